import { assertDocumentSize } from './document-limits.ts'

const FIRST_BYTES = 256

/** Puts the text of a document together. Refuses it once it is larger than a document may be. */
export class TextWriter {
  #buffer: Buffer
  #length = 0

  /** `bytes` is about how long the text will be. */
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

  /** The text so far. Nothing may be appended after it. */
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
