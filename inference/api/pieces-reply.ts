// Long answers, made while they are sent.

import { jsonPieces } from './json-pieces.ts'

/**
 * An answer of status 200 in pieces. Contract:
 * - A piece takes about a millisecond to make and has some hundred kilobytes at most.
 * - Pieces are asked for at the speed of the client; an answer that is left early is not made further.
 */
export interface PiecesReply {
  readonly kind: 'pieces'
  readonly headers: readonly string[]
  readonly pieces: Iterator<string | Buffer>
  /** Where it is known before; without, a short answer is counted, and a long one is sent in chunks. */
  readonly bytes: number | undefined
}

/** `value` is data, with iterators for lists whose items are made as they are sent. */
export function jsonPiecesReply(value: object): PiecesReply {
  const headers = ['Content-Type', 'application/json']
  return { kind: 'pieces', headers, pieces: jsonPieces(value), bytes: undefined }
}
