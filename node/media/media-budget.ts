// The memory of all media that are being read. A reader who finds no room waits for some.
//
// Invariants:
//   MU1  `heldBytes` is the sum over all holdings, and never more than `bytesMax`.
//   MU2  Room is given in the order of the waits.
//   MU3  Holdings never wait for each other alone: when all bytes belong to holdings that wait, the
//        one that came last is refused, and what it releases serves the others.
//   MU4  A wait ends after `waitMs` at most, with OVERLOADED.

import type { Clock } from '../../lib/clock.ts'
import { ServiceError } from '../../lib/errors.ts'
import type { DownloadMemory } from '../../lib/media/media-downloader.ts'

/** More waits are refused at once. */
const WAITS_MAX = 1000

/** The budget's size, and how long a holding waits for room. */
export interface MediaBudgetOptions {
  readonly bytesMax: number
  readonly waitMs: number
  readonly clock: Clock
}

interface Wait {
  readonly holding: MediaHolding
  readonly bytes: number
  readonly settled: AbortController
  readonly resolve: () => void
  readonly reject: (error: unknown) => void
}

/** What all readers of media of a node hold together. */
export class MediaBudget {
  readonly #options: MediaBudgetOptions
  readonly #waits: Wait[] = []
  #heldBytes = 0
  /** The part of `#heldBytes` whose holdings wait. */
  #waitingBytes = 0

  constructor(options: MediaBudgetOptions) {
    this.#options = options
  }

  get heldBytes(): number {
    return this.#heldBytes
  }

  /** For one reader, which adds one amount after the other. Its owner disposes of it. */
  hold(signal: AbortSignal): MediaHolding {
    return new MediaHolding(this, signal)
  }

  /** For holdings alone. */
  take(holding: MediaHolding, bytes: number): void | Promise<void> {
    const { bytesMax } = this.#options
    if (bytes > bytesMax) throw noRoom(`it needs ${bytes} bytes; all media share ${bytesMax}`)
    if (this.#waits.length === 0 && this.#heldBytes + bytes <= bytesMax) {
      this.#heldBytes += bytes
      return
    }
    if (this.#waits.length >= WAITS_MAX) throw noRoom('too many readers wait for memory')
    return this.#wait(holding, bytes)
  }

  /** For holdings alone. */
  give(bytes: number): void {
    this.#heldBytes -= bytes
    this.#settle()
  }

  async #wait(holding: MediaHolding, bytes: number): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    const settled = new AbortController()
    const wait: Wait = { holding, bytes, settled, resolve, reject }
    const onAbort = (): void => this.#refuse(wait, holding.signal.reason)
    this.#waits.push(wait)
    this.#waitingBytes += holding.bytes
    holding.signal.addEventListener('abort', onAbort, { once: true })
    void this.#limit(wait)
    this.#settle()
    try {
      await promise
    } finally {
      settled.abort()
      holding.signal.removeEventListener('abort', onAbort)
    }
  }

  async #limit(wait: Wait): Promise<void> {
    const { clock, waitMs } = this.#options
    try {
      await clock.sleep(waitMs, wait.settled.signal)
    } catch {
      return // the wait ended
    }
    this.#refuse(wait, noRoom(`it waited ${waitMs} ms for memory that other media hold`))
  }

  #settle(): void {
    for (let [first] = this.#waits; first !== undefined; [first] = this.#waits) {
      if (this.#heldBytes + first.bytes > this.#options.bytesMax) break
      this.#end(first)
      this.#heldBytes += first.bytes
      first.resolve()
    }
    if (this.#waits.length === 0 || this.#waitingBytes < this.#heldBytes) return
    const last = this.#waits.findLast(({ holding }) => holding.bytes > 0)
    if (last !== undefined) this.#refuse(last, noRoom('other media hold all the memory'))
  }

  #refuse(wait: Wait, error: unknown): void {
    if (!this.#waits.includes(wait)) return
    this.#end(wait)
    wait.reject(error)
    this.#settle()
  }

  #end(wait: Wait): void {
    this.#waits.splice(this.#waits.indexOf(wait), 1)
    this.#waitingBytes -= wait.holding.bytes
  }
}

/** What one reader holds. */
export class MediaHolding implements DownloadMemory, Disposable {
  readonly signal: AbortSignal
  readonly #budget: MediaBudget
  #bytes = 0

  constructor(budget: MediaBudget, signal: AbortSignal) {
    this.#budget = budget
    this.signal = signal
  }

  get bytes(): number {
    return this.#bytes
  }

  /** Waits for room. Rejects with OVERLOADED without room, and with the signal's reason. */
  async add(bytes: number): Promise<void> {
    this.signal.throwIfAborted()
    await this.#budget.take(this, bytes)
    this.#bytes += bytes
  }

  release(bytes: number): void {
    const given = Math.min(bytes, this.#bytes)
    this.#bytes -= given
    this.#budget.give(given)
  }

  /** Gives everything back, when nothing of what was read is used any longer. */
  [Symbol.dispose](): void {
    this.release(this.#bytes)
  }
}

function noRoom(why: string): ServiceError {
  return new ServiceError('OVERLOADED', `media: ${why}; try again in a moment`)
}
