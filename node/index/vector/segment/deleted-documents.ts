/** Sets of documents: bit `doc & 31` of word `doc >>> 5`. */
export type DocumentBits = Uint32Array

export function hasDocument(bits: DocumentBits, doc: number): boolean {
  return (((bits[doc >>> 5] ?? 0) >>> (doc & 31)) & 1) === 1
}

export function addDocument(bits: DocumentBits, doc: number): void {
  bits[doc >>> 5] = (bits[doc >>> 5] ?? 0) | (1 << (doc & 31))
}

export function newDocumentBits(docCount: number): DocumentBits {
  return new Uint32Array((docCount + 31) >>> 5)
}

/** The deleted documents of a segment that searches look at: what they were given does not change. */
export class DeletedDocuments {
  #bits: DocumentBits
  #count = 0
  #isShared = false

  constructor(bits: DocumentBits = newDocumentBits(0)) {
    this.#bits = bits
    for (let doc = 0; doc < bits.length * 32; doc += 1) if (hasDocument(bits, doc)) this.#count += 1
  }

  get count(): number {
    return this.#count
  }

  get bytesInMemory(): number {
    return this.#bits.byteLength
  }

  has(doc: number): boolean {
    return hasDocument(this.#bits, doc)
  }

  /** False if it was deleted before. */
  add(doc: number): boolean {
    if (this.has(doc)) return false
    const words = Math.max(this.#bits.length, (doc + 32) >>> 5)
    if (this.#isShared || words > this.#bits.length) {
      const isLonger = words > this.#bits.length
      const bits = new Uint32Array(isLonger ? words * 2 : words)
      bits.set(this.#bits)
      this.#bits = bits
      this.#isShared = false
    }
    addDocument(this.#bits, doc)
    this.#count += 1
    return true
  }

  /** As they are now, for good. */
  view(): DocumentBits {
    this.#isShared = true
    return this.#bits
  }
}
