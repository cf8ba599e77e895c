// A simulated disk that can lose power, fill up, and stop in the middle of a write.
//
//   write ──▶ gate (hold) ──▶ count ──▶ crash before? ──▶ apply ──▶ crash after? ──▶ gate ──▶ resolve
//
// Invariants:
//   F1  All writes of all stores take effect one by one, in the order of the calls.
//   F2  A power failure takes every store back to its last synced write, which kept all before it.
//   F3  After a power failure no store opened before it ever answers again but with UNAVAILABLE.

import { ServiceError } from '../../lib/errors.ts'
import type { ErrorCode } from '../../lib/errors.ts'
import { pagesOf } from './entry-pages.ts'
import type { KvEntry, KvOp, KvRange, KvSnapshot, KvStore, KvStoreFactory } from './kv-store.ts'
import { closedError } from './level-error.ts'
import { EntriesSnapshot, copyOf, entryBytes } from './memory-kv-store.ts'
import { SortedEntries } from './sorted-entries.ts'

type Moment = 'before' | 'after'

interface CrashPoint {
  readonly write: number
  readonly moment: Moment
}

interface Hold {
  readonly moment: Moment
  readonly released: PromiseWithResolvers<void>
}

/** What the disk knows about one store: `entries` is in memory, `durable` survives a crash. */
interface Image {
  entries: SortedEntries
  durable: SortedEntries
  holder: FaultyKvStore | undefined
}

/**
 * Contract:
 * - `writeCount` counts the writes of all stores that took effect or were lost to a crash, from 1,
 *   over all restarts; `crashAt` names a write by that count. Opening and destroying do not count.
 * - Creating and destroying a store is durable at once.
 * - A store closed without a sync keeps its writes until a power failure, as an operating system
 *   would.
 */
export class FaultyDisk implements KvStoreFactory {
  readonly #images = new Map<string, Image>()
  #power = Symbol('power')
  #hasPower = true
  #writeCount = 0
  #crashPoint: CrashPoint | undefined
  #failure: ErrorCode | undefined
  #hold: Hold | undefined
  #tail: Promise<void> = Promise.resolve()
  #heldListeners: (() => void)[] = []
  #isHeld = false

  get writeCount(): number {
    return this.#writeCount
  }

  async open(name: string): Promise<KvStore> {
    this.#assertPower(this.#power)
    const image = this.#images.get(name) ?? newImage()
    this.#images.set(name, image)
    if (image.holder !== undefined) {
      throw new ServiceError('UNAVAILABLE', `${name} is open already; close it first`)
    }
    const power = this.#power
    image.holder = new FaultyKvStore(name, image, {
      assertUsable: () => this.#assertPower(power),
      write: (ops, sync) => this.#write({ image, ops, sync, power }),
    })
    return image.holder
  }

  async destroy(name: string): Promise<void> {
    this.#assertPower(this.#power)
    this.#images.delete(name)
  }

  async list(): Promise<readonly string[]> {
    this.#assertPower(this.#power)
    return [...this.#images.keys()].toSorted()
  }

  /** Loses power at the write with this count: just before it took effect, or just after. */
  crashAt(write: number, moment: Moment): void {
    this.#crashPoint = { write, moment }
  }

  /** Loses power now. */
  crash(): void {
    this.#hasPower = false
    this.#crashPoint = undefined
    for (const image of this.#images.values()) {
      image.entries = image.durable
      image.holder = undefined
    }
    this.release()
  }

  /** Power is back: stores can be opened again, over what was durable. Crashes first if need be. */
  restart(): void {
    if (this.#hasPower) this.crash()
    this.#power = Symbol('power')
    this.#hasPower = true
  }

  /** From now on every write fails with this code and changes nothing; undefined ends it. */
  failWrites(code: ErrorCode | undefined): void {
    this.#failure = code
  }

  /** Stops the next write, and all behind it: before it takes effect, or after but unanswered. */
  hold(moment: Moment = 'before'): void {
    this.#hold ??= { moment, released: Promise.withResolvers() }
  }

  release(): void {
    this.#hold?.released.resolve()
    this.#hold = undefined
  }

  /** Resolves as soon as a write is stopped by `hold`. */
  whenHeld(): Promise<void> {
    if (this.#isHeld) return Promise.resolve()
    return new Promise((resolve) => this.#heldListeners.push(resolve))
  }

  #write(write: PendingWrite): Promise<void> {
    const done = this.#tail.then(() => this.#perform(write))
    this.#tail = done.catch(() => undefined) // its caller hears of it; the next write goes on
    return done
  }

  async #perform({ image, ops, sync, power }: PendingWrite): Promise<void> {
    await this.#gate('before')
    this.#assertPower(power)
    if (this.#failure !== undefined) {
      throw new ServiceError(this.#failure, `the simulated disk fails writes: ${this.#failure}`)
    }
    this.#writeCount += 1
    this.#crashIfDue('before')
    this.#assertPower(power)
    image.entries = image.entries.with(ops)
    if (sync) image.durable = image.entries
    this.#crashIfDue('after')
    await this.#gate('after')
    this.#assertPower(power)
  }

  #crashIfDue(moment: Moment): void {
    const due = this.#crashPoint
    if (due?.write === this.#writeCount && due.moment === moment) this.crash()
  }

  async #gate(moment: Moment): Promise<void> {
    const hold = this.#hold
    if (hold?.moment !== moment) return
    this.#isHeld = true
    for (const heard of this.#heldListeners.splice(0)) heard()
    await hold.released.promise
    this.#isHeld = false
  }

  #assertPower(power: symbol): void {
    if (this.#hasPower && power === this.#power) return
    throw new ServiceError('UNAVAILABLE', 'the simulated disk lost power; restart it')
  }
}

interface PendingWrite {
  readonly image: Image
  readonly ops: readonly KvOp[]
  readonly sync: boolean
  /** Which power-on the store belongs to. */
  readonly power: symbol
}

function newImage(): Image {
  return { entries: SortedEntries.empty, durable: SortedEntries.empty, holder: undefined }
}

interface Disk {
  assertUsable(): void
  write(ops: readonly KvOp[], sync: boolean): Promise<void>
}

class FaultyKvStore implements KvStore {
  /** A failed write is never applied later: a store that lost its power stays dead. */
  readonly generation = 0
  readonly #name: string
  readonly #image: Image
  readonly #disk: Disk
  readonly #running = new Set<Promise<void>>()
  #closed = false

  constructor(name: string, image: Image, disk: Disk) {
    this.#name = name
    this.#image = image
    this.#disk = disk
  }

  get(key: Uint8Array): Buffer | undefined {
    this.#assertUsable()
    return copyOf(this.#image.entries.get(key))
  }

  async write(ops: readonly KvOp[], options: { readonly sync: boolean }): Promise<void> {
    this.#assertUsable()
    const running = this.#disk.write(ops, options.sync)
    this.#running.add(running)
    try {
      await running
    } finally {
      this.#running.delete(running)
    }
  }

  snapshot(): KvSnapshot {
    this.#assertUsable()
    return new EntriesSnapshot(this.#image.entries, () => this.#assertUsable())
  }

  pages(range: KvRange): AsyncIterable<readonly KvEntry[]> {
    this.#assertUsable()
    return pagesOf(this.#image.entries.walk(range), () => this.#assertUsable())
  }

  async approximateBytes(range: KvRange): Promise<number> {
    this.#assertUsable()
    return entryBytes(this.#image.entries.walk(range))
  }

  async close(): Promise<void> {
    this.#closed = true
    await Promise.allSettled(this.#running)
    if (this.#image.holder === this) this.#image.holder = undefined
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close()
  }

  #assertUsable(): void {
    if (this.#closed) throw closedError(this.#name)
    this.#disk.assertUsable()
  }
}
