// Writes JSON piece by piece, as it is sent: an answer may be larger than what should be held of it,
// and writing it in one go would keep all other requests waiting.
//
// node/api/json-pieces.ts pushes instead, and passes on bytes that are JSON already. A generator that yields each
// value would slow it down; one that gathers would hold what this one leaves unmade.
//
// Invariants:
//   JW1  The pieces, joined, are what JSON.stringify answers for the same value, where that has lists
//        for iterators and shortest decimals for 32-bit floats.
//   JW2  A piece takes less than a millisecond to make and has some hundred kilobytes at most.

import { vectorJsonPieces } from './vector-codec.ts'

/** Characters that are written at once. */
const PIECE_CHARS = 32 * 1024

/** `value` is data as for JSON.stringify; an iterator is a list whose items are made as they are sent. */
export function* jsonPieces(value: unknown): Generator<string, void, undefined> {
  if (typeof value === 'string' && value.length > PIECE_CHARS) yield* stringPieces(value)
  else if (typeof value !== 'object' || value === null) yield JSON.stringify(value)
  else if (value instanceof Float32Array) yield* vectorJsonPieces(value)
  else if (Array.isArray(value) || value instanceof Iterator) yield* listPieces(value)
  else yield* objectPieces(value)
}

function* listPieces(items: Iterable<unknown>): Generator<string, void, undefined> {
  let separator = '['
  for (const item of items) {
    yield separator
    yield* jsonPieces(item)
    separator = ','
  }
  yield separator === '[' ? '[]' : ']'
}

function* objectPieces(value: object): Generator<string, void, undefined> {
  let separator = '{'
  for (const [key, member] of Object.entries(value)) {
    if (member === undefined) continue
    yield `${separator}${JSON.stringify(key)}:`
    yield* jsonPieces(member)
    separator = ','
  }
  yield separator === '{' ? '{}' : '}'
}

function* stringPieces(text: string): Generator<string, void, undefined> {
  yield '"'
  for (let from = 0; from < text.length;) {
    const to = characterStart(text, from + PIECE_CHARS)
    yield JSON.stringify(text.slice(from, to)).slice(1, -1)
    from = to
  }
  yield '"'
}

/** A pair of surrogates that is cut in two would be written as two broken characters. */
function characterStart(text: string, at: number): number {
  return (text.codePointAt(at - 1) ?? 0) > 0xffff ? at - 1 : at
}
