// A KvStore on LevelDB that survives a full disk.
//
//   open ──failed write──▶ refusing ──room, reopened──▶ open (generation + 1)
//
// Invariants:
//   L1  After a failed write, nothing is written until the database has been reopened. LevelDB
//       itself would append behind a torn log record, and lose those writes at the next start.
//   L2  The fate of a failed write shows only after the reopening. So `generation` changes before
//       the next write is admitted.
//   L3  Reads continue while writes are refused, except during the reopening itself.
//   L4  No value is answered that does not match its checksum, nor under another key than its own.

import { readdirSync, statSync } from 'node:fs'
import path from 'node:path'
import { ClassicLevel } from 'classic-level'
import { ServiceError } from '../../lib/errors.ts'
import type { Clock } from '../../lib/clock.ts'
import { DiskGuard } from './disk-guard.ts'
import type { KvEntry, KvOp, KvRange, KvSnapshot, KvStore } from './kv-store.ts'
import {
  DeletedBytes,
  isWorthCompacting,
  PIECE_BYTES_MAX,
  piecesOf,
  type CompactedRange,
} from './level-compaction.ts'
import { closedError, damagedEntry, levelError } from './level-error.ts'
import { openLevel } from './level-opening.ts'
import { LevelPages, asBuffer } from './level-pages.ts'
import { SEAL_BYTES, sealValue, unsealValue } from './sealed-value.ts'

const MIB = 1024 * 1024
const RECOVERY_PERIOD_MS = 250
/** Twice LevelDB's default, so the same data needs half as many open files. */
const TABLE_FILE_BYTES = 4 * MIB
/** Beside the log's content, reopening writes a manifest, a log and the tables' indexes. */
const REOPEN_EXTRA_BYTES = MIB
/** Greater than every key, because no keyspace begins with 0xff. */
const KEY_END = Buffer.alloc(64, 0xff)
const KEY_START = Buffer.alloc(0)

/**
 * Options of one store. docs/decisions/0002-storage-engine.md gives the reasons for the defaults.
 */
export interface LevelOptions {
  readonly clock: Clock
  /**
   * Memory for uncompressed blocks. The default is 8 MiB, because tens of stores share one process.
   */
  readonly cacheBytes?: number
  /**
   * The size of the memory table. LevelDB holds at most two, and a start replays one. The default
   * is 4 MiB.
   */
  readonly writeBufferBytes?: number
  /**
   * Each open table file is mapped, and its touched pages count as resident. The default is 256.
   */
  readonly maxOpenFiles?: number
  /** Called before each write, and before reopening after a full disk. */
  readonly guard?: DiskGuard
  /** Hears of each read or write that met damage. It must not throw. */
  readonly onDamage?: (error: ServiceError) => void
  /**
   * Hears of a failed write that neither a full disk nor damage explains, such as EIO of a sync: nothing is written
   * any more until the process starts again. It must not throw.
   */
  readonly onFailure?: (error: ServiceError) => void
}

/** What the disk of a store was before a compaction, and is after it. */
export interface Compaction {
  readonly bytesBefore: number
  readonly bytesAfter: number
}

type Database = ClassicLevel<Uint8Array, Uint8Array>
type LevelSnapshot = ReturnType<Database['snapshot']>

/** The KvStore of one directory. `generation` counts the reopenings (L2). */
export class LevelKvStore implements KvStore {
  readonly #db: Database
  readonly #directory: string
  readonly #clock: Clock
  readonly #guard: DiskGuard | undefined
  readonly #onDamage: ((error: ServiceError) => void) | undefined
  readonly #onFailure: ((error: ServiceError) => void) | undefined
  /** The last write. Batches run on a thread pool, where two may overtake each other. */
  #tail: Promise<void> = Promise.resolve()
  readonly #closing = new AbortController()
  readonly #closeListeners: (() => void)[] = []
  /** Why writes are refused until the next reopening; undefined if they are not. */
  #refusal: ServiceError | undefined
  #damage: ServiceError | undefined
  #generation = 0
  readonly #deleted = new DeletedBytes()
  #compacting: Promise<void> | undefined
  #recovering: Promise<void> | undefined
  #closed: Promise<void> | undefined

  private constructor(db: Database, options: LevelOptions) {
    this.#db = db
    this.#directory = db.location
    this.#clock = options.clock
    this.#guard = options.guard
    this.#onDamage = options.onDamage
    this.#onFailure = options.onFailure
  }

  static async open(directory: string, options: LevelOptions): Promise<LevelKvStore> {
    const db: Database = new ClassicLevel(directory, {
      keyEncoding: 'buffer',
      valueEncoding: 'buffer',
      cacheSize: options.cacheBytes ?? 8 * MIB,
      writeBufferSize: writeBufferBytesOf(options),
      maxOpenFiles: options.maxOpenFiles ?? 256,
      maxFileSize: TABLE_FILE_BYTES,
    })
    await openLevel(db)
    return new LevelKvStore(db, options)
  }

  /** Counts the reopenings. A cache from an older generation may be wrong (L2). */
  get generation(): number {
    return this.#generation
  }

  get damage(): ServiceError | undefined {
    return this.#damage
  }

  get(key: Uint8Array): Buffer | undefined {
    return this.#read(() => this.#unsealed(key, this.#db.getSync(key)))
  }

  async write(ops: readonly KvOp[], options: { readonly sync: boolean }): Promise<void> {
    this.#assertNotClosed()
    this.#assertNotRefusing()
    const bytes = bytesOf(ops)
    this.#guard?.assertRoomFor(bytes)
    const written = this.#tail.then(() => this.#apply(ops, options.sync))
    this.#tail = written.catch(() => undefined) // the caller gets the error; the next write runs
    await written
  }

  /**
   * A sync covers only LevelDB's newest log and not the one before it. So the flush writes the
   * memory table as a table file: compacting a range without keys does that, and syncs table and
   * manifest.
   */
  async flush(): Promise<void> {
    this.#assertNotClosed()
    this.#assertNotRefusing()
    await this.#tail
    try {
      await this.#db.compactRange(KEY_END, KEY_END)
    } catch (error) {
      throw this.#errorOf(error)
    }
  }

  snapshot(): KvSnapshot {
    const snapshot = this.#read(() => this.#db.snapshot())
    const options = { snapshot, keyEncoding: 'buffer', valueEncoding: 'buffer' }
    return {
      get: (key) =>
        this.#read(() => this.#unsealed(key, this.#db.getSync<Uint8Array, Buffer>(key, options))),
      pages: (range) => this.#pages(range, snapshot),
      [Symbol.asyncDispose]: () => snapshot.close(),
    }
  }

  pages(range: KvRange): AsyncIterable<readonly KvEntry[]> {
    return this.#pages(range)
  }

  async approximateBytes(range: KvRange): Promise<number> {
    const start = range.gte ?? range.gt ?? KEY_START
    const end = range.lt ?? range.lte ?? KEY_END
    try {
      return await this.#db.approximateSize(asBuffer(start), asBuffer(end))
    } catch (error) {
      throw this.#errorOf(error)
    }
  }

  /**
   * Gives back the disk of deleted entries, if these are a quarter of the store, as far as an estimate can tell. It ends
   * early when the store is closed or the signal aborts. A disk without room for a piece is left alone.
   */
  async compactDeleted(signal: AbortSignal): Promise<Compaction | undefined> {
    if (!isWorthCompacting(this.#deleted.estimate, 0)) return undefined
    const before = await this.approximateBytes({})
    if (!isWorthCompacting(this.#deleted.estimate, before)) return undefined
    this.#deleted.restart()
    this.#compacting = this.#compact(signal)
    await this.#compacting
    return { bytesBefore: before, bytesAfter: await this.approximateBytes({}) }
  }

  async #compact(signal: AbortSignal): Promise<void> {
    await this.flush()
    const whole = { start: KEY_START, end: KEY_END }
    const sizeOf = ({ start, end }: CompactedRange): Promise<number> =>
      this.approximateBytes({ gte: start, lt: end })
    for await (const { start, end } of piecesOf(whole, sizeOf)) {
      const mayWrite = this.#guard?.hasRoomFor(2 * PIECE_BYTES_MAX) !== false
      if (signal.aborted || this.#closing.signal.aborted || !mayWrite) return
      this.#assertNotRefusing()
      await this.#db.compactRange(start, end)
    }
  }

  close(): Promise<void> {
    this.#closed ??= this.#close()
    return this.#closed
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close()
  }

  /** Calls `listener` once the store has been closed. */
  onClosed(listener: () => void): void {
    this.#closeListeners.push(listener)
  }

  async #close(): Promise<void> {
    this.#closing.abort()
    await this.#recovering
    await this.#tail
    await this.#compacting?.catch(() => undefined) // its caller hears of it
    await this.#db.close()
    for (const listener of this.#closeListeners) listener()
  }

  #pages(range: KvRange, snapshot?: LevelSnapshot): LevelPages {
    return new LevelPages({
      db: this.#db,
      range,
      snapshot,
      errorOf: (error) => this.#errorOf(error),
      unseal: (key, stored) => this.#unseal(key, stored),
    })
  }

  #unsealed(key: Uint8Array, stored: Uint8Array | undefined): Buffer | undefined {
    return stored === undefined ? undefined : this.#unseal(key, asBuffer(stored))
  }

  #unseal(key: Uint8Array, stored: Buffer): Buffer {
    const value = unsealValue(key, stored)
    if (value === undefined) throw damagedEntry(this.#directory, key)
    return value
  }

  #read<Value>(read: () => Value): Value {
    try {
      return read()
    } catch (error) {
      throw this.#errorOf(error)
    }
  }

  #errorOf(error: unknown): ServiceError {
    if (this.#closed === undefined && this.#db.status !== 'open') {
      return new ServiceError(
        'UNAVAILABLE',
        `${this.#directory} is being reopened after a full disk; try again`,
        { cause: error },
      )
    }
    return this.#told(levelError(error, this.#directory))
  }

  #told(error: ServiceError): ServiceError {
    if (error.code !== 'CORRUPTION') return error
    this.#damage ??= error
    this.#onDamage?.(error)
    return error
  }

  #assertNotClosed(): void {
    if (this.#closed !== undefined) throw closedError(this.#directory)
  }

  #assertNotRefusing(): void {
    const refusal = this.#refusal
    if (refusal === undefined) return
    throw new ServiceError(refusal.code, refusal.message, { cause: refusal })
  }

  async #apply(ops: readonly KvOp[], sync: boolean): Promise<void> {
    this.#assertNotRefusing()
    try {
      // Costs the event loop a fifth less than a batch from an array.
      await using batch = this.#db.batch()
      for (const op of ops) {
        if (op.type === 'put') batch.put(op.key, sealValue(op.key, op.value))
        else batch.del(op.key)
        this.#deleted.note(op)
      }
      await batch.write({ sync })
    } catch (error) {
      const failure = this.#told(levelError(error, this.#directory))
      this.#refuse(failure)
      throw failure
    }
  }

  #refuse(failure: ServiceError): void {
    this.#refusal = failure
    // A device that fails for another reason does not recover. The node must be restarted.
    if (failure.code === 'DISK_FULL') this.#recovering ??= this.#recover()
    const isDevice = failure.code === 'UNAVAILABLE' && this.#closed === undefined
    if (isDevice) this.#onFailure?.(failure)
  }

  async #recover(): Promise<void> {
    const { signal } = this.#closing
    const guard = this.#guard ?? this.#bareGuard()
    while (this.#refusal !== undefined) {
      try {
        await this.#clock.sleep(RECOVERY_PERIOD_MS, signal)
      } catch {
        break // the store was closed during the sleep
      }
      if (guard.hasRoomFor(this.#reopenBytes())) await this.#reopen()
    }
    this.#recovering = undefined
  }

  /**
   * The room that a start needs: it writes the log's content as tables before it deletes the log.
   */
  #reopenBytes(): number {
    const logs = readdirSync(this.#directory).filter((name) => name.endsWith('.log'))
    const sizes = logs.map((name) => statSync(path.join(this.#directory, name)).size)
    return sizes.reduce((sum, size) => sum + size, REOPEN_EXTRA_BYTES)
  }

  async #reopen(): Promise<void> {
    try {
      await this.#db.close()
      await openLevel(this.#db)
    } catch {
      return // still no room, or another error: reads report it, and the loop tries again
    }
    this.#generation += 1
    this.#refusal = undefined
  }

  #bareGuard(): DiskGuard {
    return new DiskGuard({ directory: this.#directory, clock: this.#clock, reserveBytes: 0 })
  }
}

function bytesOf(ops: readonly KvOp[]): number {
  let bytes = 0
  for (const op of ops) {
    bytes += op.key.length + (op.type === 'put' ? SEAL_BYTES + op.value.length : 0)
  }
  return bytes
}

function writeBufferBytesOf(options: LevelOptions): number {
  return options.writeBufferBytes ?? 4 * MIB
}
