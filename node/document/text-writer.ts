import { assertDocumentSize } from './document-limits.ts'

const FIRST_BYTES = 256

/**
 * Assembles the text of a document. Throws INVALID_ARGUMENT once the text is larger than a document
 * may be.
 */
export class TextWriter {
  #buffer: Buffer
  #length = 0

  /** `bytes` is the expected length of the text. A longer text costs a copy. */
  constructor(bytes: number) {
    this.#buffer = Buffer.allocUnsafe(Math.max(bytes, FIRST_BYTES))
  }

  get length(): number {
    return this.#length
  }

  append(source: Buffer, start = 0, end = source.length): void {
    this.#reserve(end - start)
    source.copy(this.#buffer, this.#length, start, end)
    this.#length += end - start
  }

  appendByte(byte: number): void {
    this.#reserve(1)
    this.#buffer[this.#length++] = byte
  }

  /** The text so far. The caller may not append after this. */
  finish(): Buffer {
    return this.#buffer.subarray(0, this.#length)
  }

  #reserve(bytes: number): void {
    const needed = this.#length + bytes
    if (needed <= this.#buffer.length) return
    assertDocumentSize(needed)
    const larger = Buffer.allocUnsafe(Math.max(needed, 2 * this.#buffer.length))
    this.#buffer.copy(larger, 0, 0, this.#length)
    this.#buffer = larger
  }
}
