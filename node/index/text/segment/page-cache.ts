// A bounded cache of file pages, shared by all segments of an index.
//
// Two generations instead of a list in order of use: a page found in the old one moves to the
// young one; when the young one holds half of the bound it becomes the old one. A hit in the young
// generation changes nothing, which keeps the common case at one map lookup.

export class PageCache {
  readonly #bytesMax: number
  #young = new Map<number, Uint8Array>()
  #old = new Map<number, Uint8Array>()
  #youngBytes = 0
  #oldBytes = 0
  #nextFile = 0

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax
  }

  get bytes(): number {
    return this.#youngBytes + this.#oldBytes
  }

  /** A number for a file, so that a page's key is one number: never used again. */
  newFile(): number {
    this.#nextFile += 1
    return this.#nextFile
  }

  get(key: number): Uint8Array | undefined {
    const young = this.#young.get(key)
    if (young !== undefined) return young
    const old = this.#old.get(key)
    if (old === undefined) return undefined
    this.#old.delete(key)
    this.#oldBytes -= old.length
    this.put(key, old)
    return old
  }

  put(key: number, page: Uint8Array): void {
    this.#young.set(key, page)
    this.#youngBytes += page.length
    if (this.#youngBytes < this.#bytesMax / 2) return
    this.#old = this.#young
    this.#oldBytes = this.#youngBytes
    this.#young = new Map()
    this.#youngBytes = 0
  }
}
