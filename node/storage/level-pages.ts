import type { ClassicLevel, Iterator, Snapshot } from 'classic-level'
import type { ServiceError } from '../../lib/errors.ts'
import type { KvEntry, KvRange } from './kv-store.ts'

const PAGE_BYTES = 256 * 1024
/**
 * Converting a page to JavaScript values blocks the event loop, so the number of entries is limited
 * too.
 */
const PAGE_ENTRIES_MAX = 1000

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
 */
export class LevelPages implements AsyncIterableIterator<readonly KvEntry[]> {
  readonly #errorOf: (error: unknown) => ServiceError
  readonly #unseal: (key: Buffer, stored: Buffer) => Buffer
  readonly #iterator: Iterator<Database, Buffer, Buffer>

  constructor({ db, range, snapshot, errorOf, unseal }: LevelPagesOptions) {
    this.#errorOf = errorOf
    this.#unseal = unseal
    try {
      this.#iterator = db.iterator<Buffer, Buffer>({
        ...boundsOf(range),
        keyEncoding: 'buffer',
        valueEncoding: 'buffer',
        highWaterMarkBytes: PAGE_BYTES,
        snapshot,
      })
    } catch (error) {
      throw errorOf(error)
    }
  }

  [Symbol.asyncIterator](): this {
    return this
  }

  async next(): Promise<IteratorResult<readonly KvEntry[], undefined>> {
    try {
      const page = await this.#iterator.nextv(PAGE_ENTRIES_MAX)
      for (const entry of page) entry[1] = this.#unseal(entry[0], entry[1])
      if (page.length > 0) return { done: false, value: page }
    } catch (error) {
      await this.#iterator.close()
      throw this.#errorOf(error)
    }
    return this.return()
  }

  async return(): Promise<{ done: true; value: undefined }> {
    await this.#iterator.close()
    return { done: true, value: undefined }
  }
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
