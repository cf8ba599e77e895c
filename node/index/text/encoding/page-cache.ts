import { BoundedCache } from '../../encoding/bounded-cache.ts'

/** File pages in memory, shared by the segments of all indexes of a worker. */
export class PageCache extends BoundedCache<number, Uint8Array> {
  #nextFile = 0

  /** A number for a file, so that a page's key is one number: never used again. */
  newFile(): number {
    this.#nextFile += 1
    return this.#nextFile
  }
}
