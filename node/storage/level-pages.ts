import type { ClassicLevel, Iterator, Snapshot } from 'classic-level'
import type { ServiceError } from '../../lib/errors.ts'
import type { KvEntry, KvRange } from './kv-store.ts'

const PAGE_BYTES = 256 * 1024
/**
 * Converting a page to JavaScript values blocks the event loop, and each value has two buffers that take many times the
 * bytes of a short one while a slow reader leaves them, so the number of entries is limited too.
 */
const PAGE_ENTRIES_MAX = 256
/** A page is longer than PAGE_BYTES by its last value; from here on that one is long. */
const LONG_PAGE_BYTES = 2 * PAGE_BYTES

type Database = ClassicLevel<Uint8Array, Uint8Array>

/**
 * The walk to make. `errorOf` turns LevelDB's errors into the store's. `unseal` answers the value in what LevelDB has
 * under a key, or throws the store's error.
 */
export interface LevelPagesOptions {
  readonly db: Database
  readonly range: KvRange
  readonly snapshot: Snapshot | undefined
  readonly errorOf: (error: unknown) => ServiceError
  readonly unseal: (key: Buffer, stored: Buffer) => Buffer
}

/**
 * One walk over a range. The constructor creates LevelDB's iterator, because that fixes the visible
 * state.
 *
 * An iterator keeps the block that it stands on, uncompressed, and a block is as long as the value in it. So a walk of
 * a snapshot, whose state is fixed anyway, closes its iterator behind a long page and begins another one there.
 */
export class LevelPages implements AsyncIterableIterator<readonly KvEntry[]> {
  readonly #with: LevelPagesOptions
  /** Undefined behind a long page. */
  #iterator: LevelIterator | undefined
  /** Where the next iterator begins, and how many entries it may still find. */
  #rest: KvRange

  constructor(options: LevelPagesOptions) {
    this.#with = options
    this.#rest = options.range
    this.#iterator = this.#open()
  }

  [Symbol.asyncIterator](): this {
    return this
  }

  async next(): Promise<IteratorResult<readonly KvEntry[], undefined>> {
    this.#iterator ??= this.#open()
    try {
      const page = await this.#iterator.nextv(PAGE_ENTRIES_MAX)
      for (const entry of page) entry[1] = this.#with.unseal(entry[0], entry[1])
      await this.#releaseBehind(page)
      if (page.length > 0) return { done: false, value: page }
    } catch (error) {
      await this.#iterator?.close()
      throw this.#with.errorOf(error)
    }
    return this.return()
  }

  async return(): Promise<{ done: true; value: undefined }> {
    await this.#iterator?.close()
    return { done: true, value: undefined }
  }

  async #releaseBehind(page: readonly KvEntry[]): Promise<void> {
    const last = page.at(-1)
    if (this.#with.snapshot === undefined || last === undefined) return
    const { limit } = this.#rest
    if (limit !== undefined) this.#rest = { ...this.#rest, limit: limit - page.length }
    if (bytesOf(page) < LONG_PAGE_BYTES) return
    this.#rest = behind(this.#rest, last[0])
    await this.#iterator?.close()
    this.#iterator = undefined
  }

  #open(): LevelIterator {
    const { db, snapshot, errorOf } = this.#with
    try {
      return db.iterator<Buffer, Buffer>({
        ...boundsOf(this.#rest),
        keyEncoding: 'buffer',
        valueEncoding: 'buffer',
        highWaterMarkBytes: PAGE_BYTES,
        snapshot,
      })
    } catch (error) {
      throw errorOf(error)
    }
  }
}

type LevelIterator = Iterator<Database, Buffer, Buffer>

function bytesOf(page: readonly KvEntry[]): number {
  return page.reduce((sum, [key, value]) => sum + key.length + value.length, 0)
}

/** What is left of a range when the walk has passed the key. */
function behind({ gte, gt, lt, lte, reverse, limit }: KvRange, key: Buffer): KvRange {
  const rest = { ...(reverse !== undefined && { reverse }), ...(limit !== undefined && { limit }) }
  if (reverse === true) {
    return { ...rest, lt: key, ...(gte !== undefined && { gte }), ...(gt !== undefined && { gt }) }
  }
  return { ...rest, gt: key, ...(lt !== undefined && { lt }), ...(lte !== undefined && { lte }) }
}

function boundsOf({ gte, gt, lt, lte, reverse, limit }: KvRange) {
  return {
    ...(gte !== undefined && { gte: asBuffer(gte) }),
    ...(gt !== undefined && { gt: asBuffer(gt) }),
    ...(lt !== undefined && { lt: asBuffer(lt) }),
    ...(lte !== undefined && { lte: asBuffer(lte) }),
    ...(reverse !== undefined && { reverse }),
    ...(limit !== undefined && { limit }),
  }
}

/** A Buffer over the same bytes, without a copy. */
export function asBuffer(bytes: Uint8Array): Buffer {
  if (Buffer.isBuffer(bytes)) return bytes
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
}
