import type { ListPart } from '../lists/row-lists.ts'

/**
 * The ordinals of documents in the order of their places in lists. A filtered search asks for those of one list after the
 * other, which lie far apart by document. They are gathered list by list, when they are asked for first.
 */
export class PlacedOrdinals {
  /** By document, which has one row. */
  readonly #ordinals: Uint32Array
  readonly #placed: Uint32Array
  /** By place: whether the part that begins there is gathered. */
  readonly #known: Uint32Array

  constructor(ordinals: Uint32Array) {
    this.#ordinals = ordinals
    this.#placed = new Uint32Array(ordinals.length)
    this.#known = new Uint32Array((ordinals.length + 31) >>> 5)
  }

  get bytesInMemory(): number {
    return this.#placed.byteLength + this.#known.byteLength
  }

  /** The ordinals of a part by place, as `docs` is. A part that begins at a place always has the same documents. */
  of(docs: Uint32Array, { from, to }: ListPart): Uint32Array {
    const [word, bit] = [from >>> 5, 1 << (from & 31)]
    const known = this.#known[word] ?? 0
    if ((known & bit) === 0) {
      for (let place = from; place < to; place += 1) {
        this.#placed[place] = this.#ordinals[docs[place] ?? 0] ?? 0
      }
      this.#known[word] = known | bit
    }
    return this.#placed
  }
}
