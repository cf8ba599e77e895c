// Decodes strings of any length in steps.

import type { Sliced } from '../../lib/sliced.ts'
import { readString } from './json-scanner.ts'

const QUOTE = Buffer.from('"')
const BACKSLASH = 0x5c
const LOWER_U = 0x75
const PIECE_BYTES = 64 * 1024

/** Decodes a JSON string in pieces, each of them by itself. */
export class StringPieces {
  readonly #json: Buffer
  #at = 1

  /** `json` is the string with its quotes. */
  constructor(json: Buffer) {
    this.#json = json
  }

  /**
   * The next piece; undefined after the last. A pair of escaped surrogates may be split between two
   * pieces.
   */
  next(): string | undefined {
    const end = this.#json.length - 1
    if (this.#at >= end) return undefined
    const cut = cutAfter(this.#json, this.#at, Math.min(end, this.#at + PIECE_BYTES))
    const piece = Buffer.concat([QUOTE, this.#json.subarray(this.#at, cut), QUOTE])
    this.#at = cut
    return readString(piece, 1, piece.length - 1, true)
  }
}

export function* readLongString(json: Buffer): Sliced<string> {
  const pieces = new StringPieces(json)
  const parts: string[] = []
  for (let piece = pieces.next(); piece !== undefined; piece = pieces.next()) {
    parts.push(piece)
    yield
  }
  return parts.join('')
}

/** The first offset at `until` or behind it that splits neither an escape nor a character. */
function cutAfter(json: Buffer, from: number, until: number): number {
  let at = from
  while (at < until) {
    if (json[at] !== BACKSLASH) at++
    else at += json[at + 1] === LOWER_U ? 6 : 2
  }
  while (((json[at] ?? 0) & 0xc0) === 0x80) at++
  return at
}
