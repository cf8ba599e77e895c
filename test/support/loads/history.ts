// What is known about things that change in numbered steps, when answers may be lost.
//
// Invariants, checked by `check`:
//   H1  Every acknowledged step is there: what is seen is not older than the last acknowledgement
//       before the question.
//   H2  Nothing is seen that was never sent.
//   H3  What was seen once stays, also over a crash: it raises the same bound as an acknowledgement.
//   H4  Versions of a key never go back, over steps, deletes and crashes.

import { expect } from 'chai'
import type { Looked } from '../servers/store-client.ts'

export interface Step {
  readonly number: number
  readonly deletes: boolean
}

/** One writer takes the steps, anybody reads. Each step writes its number, or deletes. */
export class StepHistory {
  readonly name: string
  /** Every so many steps one deletes. */
  readonly #deleteEvery: number
  #sent = 0
  #acknowledged = 0

  constructor(name: string, deleteEvery: number) {
    this.name = name
    this.#deleteEvery = deleteEvery
  }

  begin(): Step {
    this.#sent += 1
    return { number: this.#sent, deletes: this.#isDelete(this.#sent) }
  }

  acknowledge({ number }: Step): void {
    this.#acknowledged = Math.max(this.#acknowledged, number)
  }

  /** To be taken before a read whose result is given to `check`. */
  floor(): number {
    return this.#acknowledged
  }

  /** `seen` is the number in the document, undefined when there is none. */
  check(seen: unknown, floor: number): void {
    const bounds = `${this.name}: acknowledged ${floor}, sent ${this.#sent}`
    if (seen === undefined) {
      const deleted = this.#deleteIn(floor, this.#sent)
      expect(deleted, `${bounds}, but the document is gone`).to.not.equal(undefined)
      return
    }
    expect(seen, bounds).to.be.a('number').within(floor, this.#sent)
    const number = Number(seen)
    expect(this.#isDelete(number), `${bounds}: step ${number} deletes, yet is seen`).to.equal(false)
    this.acknowledge({ number, deletes: false })
  }

  #isDelete(number: number): boolean {
    return number % this.#deleteEvery === 0
  }

  /** Step 0 is the absence at the start, so it counts as a delete. */
  #deleteIn(from: number, to: number): number | undefined {
    const next = Math.ceil(from / this.#deleteEvery) * this.#deleteEvery
    return next <= to ? next : undefined
  }
}

/** The greatest version seen of each key (H4). */
export class VersionLedger {
  readonly #newest = new Map<string, bigint>()

  /** Looks up and checks: `read` must begin within this call. */
  async watch(key: string, read: () => Promise<Looked>): Promise<Looked> {
    const floor = this.#newest.get(key) ?? 0n
    const looked = await read()
    if (looked.document === undefined) return looked
    const { version } = looked
    expect(version >= floor, `${key}: version ${version} after ${floor}`).to.equal(true)
    if (version > (this.#newest.get(key) ?? 0n)) this.#newest.set(key, version)
    return looked
  }
}

/** Counts acknowledged writes, and tells when there are enough. */
export class Tally {
  #count = 0
  readonly #waiting = new Map<() => void, number>()

  get count(): number {
    return this.#count
  }

  add(): void {
    this.#count += 1
    for (const [resolve, target] of this.#waiting) {
      if (this.#count < target) continue
      this.#waiting.delete(resolve)
      resolve()
    }
  }

  reached(target: number): Promise<void> {
    return new Promise((resolve) => this.#waiting.set(resolve, target))
  }
}
