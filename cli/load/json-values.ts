// Cuts JSON values out of bytes without building them: the elements of an array, or values between
// white space, as pretty printers write them.
//
// Invariants:
//   JV1  Every byte between two commas belongs to the element between them, so an element that is not
//        JSON is reported with its text and never skipped in silence.
//   JV2  An element longer than DOCUMENT_BYTES_MAX is skipped in bounded memory, and reported.

import { CliError } from '../process/exit.ts'
import { EXIT } from '../../lib/process/exit-codes.ts'
import { DOCUMENT_BYTES_MAX } from './raw-document.ts'
import type { RawDocument } from './raw-document.ts'

const TOO_LONG = 'the value is longer than 64 MiB, the most that one request may hold'

const BYTE = {
  tab: 0x09,
  lineFeed: 0x0a,
  return: 0x0d,
  space: 0x20,
  quote: 0x22,
  comma: 0x2c,
  openBracket: 0x5b,
  backslash: 0x5c,
  closeBracket: 0x5d,
  openBrace: 0x7b,
  closeBrace: 0x7d,
} as const

/** The values of an input without a byte order mark. Throws a CliError if the input ends within one. */
export async function* readJsonValues(
  chunks: AsyncIterable<Uint8Array>,
): AsyncGenerator<RawDocument> {
  const cutter = new ValueCutter()
  for await (const bytes of chunks) {
    yield* cutter.cut(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength))
  }
  yield* cutter.end()
}

class ValueCutter {
  #line = 1
  /** Whether an array of documents is open. */
  #inArray = false
  /** Brackets and braces that are open in the value. */
  #depth = 0
  #inText = false
  #isEscaped = false
  #value: { readonly line: number; parts: Buffer[]; length: number } | undefined;

  *cut(chunk: Buffer): Generator<RawDocument> {
    let start = 0 // the first byte of the value that is not among its parts yet
    for (let at = 0; at < chunk.length; at += 1) {
      const byte = chunk[at] ?? 0
      if (byte === BYTE.lineFeed) this.#line += 1
      if (this.#inText) {
        this.#passText(byte)
        continue
      }
      if (this.#value === undefined) {
        if (this.#isBetween(byte)) continue
        this.#value = { line: this.#line, parts: [], length: 0 }
        start = at
      }
      const end = this.#endOfValue(byte, at)
      if (end === undefined) continue
      yield this.#take(chunk.subarray(start, end))
    }
    if (this.#value !== undefined) this.#keep(chunk.subarray(start))
  }

  *end(): Generator<RawDocument> {
    const isCut = this.#inArray || this.#depth > 0 || this.#inText
    if (this.#value !== undefined) yield this.#take(Buffer.alloc(0))
    if (!isCut) return
    const message = `the input ends within its JSON, in line ${this.#line}: check that it is complete`
    throw new CliError(EXIT.refused, 'FILE', message)
  }

  #passText(byte: number): void {
    if (this.#isEscaped) this.#isEscaped = false
    else if (byte === BYTE.backslash) this.#isEscaped = true
    else if (byte === BYTE.quote) this.#inText = false
  }

  /** Skips white space, commas, and the brackets of the array of documents. */
  #isBetween(byte: number): boolean {
    if (isSpace(byte)) return true
    if (this.#inArray && byte === BYTE.comma) return true
    const isBracket = byte === (this.#inArray ? BYTE.closeBracket : BYTE.openBracket)
    if (isBracket) this.#inArray = !this.#inArray
    return isBracket
  }

  /** The end of the value, if this byte ends it. */
  #endOfValue(byte: number, at: number): number | undefined {
    if (byte === BYTE.quote) this.#inText = true
    else if (byte === BYTE.openBrace || byte === BYTE.openBracket) this.#depth += 1
    else if (byte === BYTE.closeBrace || byte === BYTE.closeBracket) return this.#close(byte, at)
    else if (this.#depth === 0) {
      if (this.#inArray) return byte === BYTE.comma ? at : undefined
      return isSpace(byte) ? at : undefined
    }
    return undefined
  }

  #close(byte: number, at: number): number | undefined {
    if (this.#depth > 0) {
      this.#depth -= 1
      // In an array, only a comma or the array's end ends a value. Other bytes belong to it (JV1).
      return this.#depth === 0 && !this.#inArray ? at + 1 : undefined
    }
    if (!this.#inArray || byte !== BYTE.closeBracket) return undefined
    this.#inArray = false
    return at
  }

  #keep(part: Buffer): void {
    if (this.#value === undefined) return
    this.#value.length += part.length
    if (this.#value.length > DOCUMENT_BYTES_MAX) this.#value.parts = []
    else this.#value.parts.push(part)
  }

  #take(last: Buffer): RawDocument {
    this.#keep(last)
    const { line = this.#line, parts = [], length = 0 } = this.#value ?? {}
    this.#value = undefined
    this.#depth = 0
    this.#inText = false
    if (length > DOCUMENT_BYTES_MAX) return { line, bytes: Buffer.alloc(0), problem: TOO_LONG }
    const [first] = parts
    const bytes = parts.length === 1 && first !== undefined ? first : Buffer.concat(parts)
    return { line, bytes }
  }
}

function isSpace(byte: number): boolean {
  return byte === BYTE.space || byte === BYTE.lineFeed || byte === BYTE.return || byte === BYTE.tab
}
