// A simulated disk under a node. It can lose power, tear writes, fill up, flip bits, and stop in the
// middle of a write. It guarantees no more than real disks do.
//
//   write ──▶ gate (hold) ──▶ count ──▶ crash before? ──▶ apply ──▶ crash after? ──▶ gate ──▶ resolve
//
// Invariants:
//   F1  All writes, of all stores and files, take effect one by one, in the order of the calls.
//   F2  A power failure leaves of a store what it was after some write, at or after its last flush or
//       synced write: which one, chance decides. A sync of one store or file covers no other.
//   F3  After a power failure nothing opened before it ever answers again but with UNAVAILABLE.

import { ServiceError } from '../../../lib/errors.ts'
import type { ErrorCode } from '../../../lib/errors.ts'
import { seededRandom, type Random } from '../../../lib/random.ts'
import { pagesOf } from '../../../node/storage/entry-pages.ts'
import type {
  KvEntry,
  KvOp,
  KvRange,
  KvSnapshot,
  KvStore,
  KvStoreFactory,
} from '../../../node/storage/kv-store.ts'
import { closedError } from '../../../node/storage/level-error.ts'
import { EntriesSnapshot, copyOf, entryBytes } from '../../../node/storage/memory-kv-store.ts'
import { SortedEntries } from '../../../node/storage/sorted-entries.ts'
import { FaultyDirectory } from './faulty-directory.ts'

type Moment = 'before' | 'after'

interface CrashPoint {
  readonly write: number
  readonly moment: Moment
}

interface Hold {
  readonly moment: Moment
  readonly released: PromiseWithResolvers<void>
}

/** What the disk knows about one store: one of `since` survives a crash, the first at least. */
interface Image {
  entries: SortedEntries
  /** The states since the last flush or synced write, oldest first; never empty. */
  since: SortedEntries[]
  holder: FaultyKvStore | undefined
}

/** All that was on a disk at one moment. */
export interface DiskState {
  readonly stores: ReadonlyMap<string, SortedEntries>
  readonly files: ReadonlyMap<string, Buffer>
}

export interface FaultyDiskOptions {
  readonly pace?: () => Promise<void>
  readonly pageEntriesMax?: number
}

/** More states than this are not told apart: the older ones are lost first. */
const STATES_MAX = 256

/**
 * Contract:
 * - `writeCount` counts the writes of all stores that took effect or were lost to a crash, from 1,
 *   over all restarts; `crashAt` names a write by that count. Opening and destroying do not count.
 * - Creating and destroying a store is durable at once.
 * - A store closed without a sync keeps its writes until a power failure, as an operating system
 *   would.
 * - `directory` is a directory of files for the journal, on the same disk and of the same power.
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
  readonly #momentListeners: (() => void)[] = []
  /** Puts a part of the write that is under way into a directory. */
  #pendingTear: ((directory: FaultyDirectory) => void) | undefined
  readonly #random: Random
  readonly #directory: FaultyDirectory

  readonly #pace: (() => Promise<void>) | undefined
  readonly #pageEntriesMax: number | undefined

  /**
   * `seed` decides which unsynced writes a power failure takes. Each write waits for `pace` first, which must
   * always resolve. Walks have `pageEntriesMax` entries on a page; default: as stores in memory.
   */
  constructor(seed = 1, { pace, pageEntriesMax }: FaultyDiskOptions = {}) {
    this.#random = seededRandom(seed)
    this.#pace = pace
    this.#pageEntriesMax = pageEntriesMax
    this.#directory = this.#newDirectory()
  }

  get directory(): FaultyDirectory {
    return this.#directory
  }

  /** Calls `listener` just before and after each write takes effect, and when a directory was synced. */
  onMoment(listener: () => void): void {
    this.#momentListeners.push(listener)
  }

  /**
   * Another disk with the content that this one would have after a power failure now. This one
   * continues. A random part of a write that is under way is lost.
   */
  image(seed: number): FaultyDisk {
    const image = new FaultyDisk(seed)
    for (const [name, { entries, since }] of this.#images) {
      image.#images.set(name, { entries, since: [...since], holder: undefined })
    }
    image.#directory.copyFrom(this.#directory)
    this.#pendingTear?.(image.#directory)
    image.restart()
    return image
  }

  #newDirectory(): FaultyDirectory {
    return new FaultyDirectory({
      random: this.#random,
      perform: (apply, tear) =>
        this.#enqueue({ apply, tear, needsRoom: false, power: this.#power }),
      onSynced: () => this.#tellMoment(),
      power: () => {
        const power = this.#power
        return () => this.#assertPower(power)
      },
      hasRoom: () => this.#failure !== 'DISK_FULL',
    })
  }

  /** What is on the disk now, for `goBack`. Power is needed for neither. */
  state(): DiskState {
    const stores = [...this.#images].map(([name, { entries }]) => [name, entries] as const)
    return { stores: new Map(stores), files: this.#directory.durableContents() }
  }

  /** The disk is what it was: nothing of what came later is there. Crashes first if need be. */
  goBack({ stores, files }: DiskState): void {
    this.restart()
    this.#images.clear()
    for (const [name, entries] of stores) {
      this.#images.set(name, { entries, since: [entries], holder: undefined })
    }
    this.#directory.restoreContents(files)
  }

  get writeCount(): number {
    return this.#writeCount
  }

  async open(name: string): Promise<KvStore> {
    this.#assertPower(this.#power)
    const image = this.#images.get(name) ?? newImage()
    this.#images.set(name, image)
    if (image.holder !== undefined) {
      throw new ServiceError('UNAVAILABLE', `${name} is already open; close it first`)
    }
    const power = this.#power
    image.holder = new FaultyKvStore(name, image, {
      pageEntriesMax: this.#pageEntriesMax,
      assertUsable: () => this.#assertPower(power),
      write: (ops, sync) => this.#write(image, { ops, sync, power }),
      flush: () => this.#flush(image, power),
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
      const survivor = Math.floor(this.#random() * image.since.length)
      image.entries = image.since[survivor] ?? SortedEntries.empty
      image.since = [image.entries]
      image.holder = undefined
    }
    this.#directory.losePower()
    this.release()
  }

  /** Power is back: stores can be opened again, over what was durable. Crashes first if need be. */
  restart(): void {
    if (this.#hasPower) this.crash()
    this.#power = Symbol('power')
    this.#hasPower = true
  }

  /**
   * From now on writes fail with this code and change nothing; undefined ends it. With DISK_FULL the
   * writes that need no new room succeed: those into allocated files.
   */
  failWrites(code: ErrorCode | undefined): void {
    this.#failure = code
  }

  /** Refuses as a guard before a full disk does. */
  admit(): void {
    if (this.#failure === 'DISK_FULL') throw this.#failureError('DISK_FULL')
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

  #write(
    image: Image,
    { ops, sync, power }: { ops: readonly KvOp[]; sync: boolean; power: symbol },
  ): Promise<void> {
    return this.#enqueue({
      power,
      needsRoom: true,
      apply: () => {
        image.entries = image.entries.with(ops)
        if (sync) image.since = [image.entries]
        else image.since.push(image.entries)
        if (image.since.length > STATES_MAX) image.since.splice(1, 1)
      },
    })
  }

  #flush(image: Image, power: symbol): Promise<void> {
    return this.#enqueue({
      power,
      needsRoom: true,
      apply: () => {
        image.since = [image.entries]
      },
    })
  }

  #failureError(code: ErrorCode): ServiceError {
    return new ServiceError(code, `the simulated disk fails writes: ${code}`)
  }

  #enqueue(write: PendingWrite): Promise<void> {
    const done = this.#tail.then(() => this.#perform(write))
    this.#tail = done.catch(() => undefined) // its caller gets the error; the next write continues
    return done
  }

  async #perform({ apply, needsRoom, tear, power }: PendingWrite): Promise<void> {
    await this.#gate('before')
    await this.#pace?.()
    this.#assertPower(power)
    const failure = this.#failure
    if (failure !== undefined && (needsRoom || failure !== 'DISK_FULL')) {
      throw this.#failureError(failure)
    }
    this.#writeCount += 1
    this.#pendingTear = tear
    this.#tellMoment()
    this.#crashIfDue('before')
    this.#pendingTear = undefined
    this.#assertPower(power)
    apply()
    this.#tellMoment()
    this.#crashIfDue('after')
    await this.#gate('after')
    this.#assertPower(power)
  }

  #tellMoment(): void {
    for (const listener of this.#momentListeners) listener()
  }

  #crashIfDue(moment: Moment): void {
    const due = this.#crashPoint
    if (due?.write !== this.#writeCount || due.moment !== moment) return
    this.#pendingTear?.(this.#directory)
    this.crash()
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
  readonly apply: () => void
  /** Whether a full disk refuses it. */
  readonly needsRoom: boolean
  /** Leaves of the write what a power failure in its middle may leave. */
  readonly tear?: ((directory: FaultyDirectory) => void) | undefined
  /** Which power-on the store belongs to. */
  readonly power: symbol
}

function newImage(): Image {
  return { entries: SortedEntries.empty, since: [SortedEntries.empty], holder: undefined }
}

interface Disk {
  readonly pageEntriesMax: number | undefined
  assertUsable(): void
  write(ops: readonly KvOp[], sync: boolean): Promise<void>
  flush(): Promise<void>
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

  write(ops: readonly KvOp[], options: { readonly sync: boolean }): Promise<void> {
    return this.#run(() => this.#disk.write(ops, options.sync))
  }

  flush(): Promise<void> {
    return this.#run(() => this.#disk.flush())
  }

  async #run(work: () => Promise<void>): Promise<void> {
    this.#assertUsable()
    const running = work()
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
    const { pageEntriesMax } = this.#disk
    return pagesOf(this.#image.entries.walk(range), () => this.#assertUsable(), pageEntriesMax)
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
