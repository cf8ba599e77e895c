// Long answers, made while they are sent.

import type { StreamedReply } from '../../door/replies.ts'
import { sendPieces } from './answer-sender.ts'
import { jsonPieces } from './json-pieces.ts'

/**
 * An answer of status 200 in pieces. Contract:
 * - A piece takes about a millisecond to make and has some hundred kilobytes at most.
 * - Pieces are asked for at the speed of the client; an answer that is left early is not made further.
 */
export interface Pieces {
  readonly headers: readonly string[]
  readonly pieces: Iterator<string | Buffer>
  /** Where it is known before; without, a short answer is counted, and a long one is sent in chunks. */
  readonly bytes: number | undefined
}

export function piecesReply(pieces: Pieces): StreamedReply {
  return { kind: 'streamed', status: 200, send: (sending) => sendPieces(pieces, sending) }
}

/** `value` is data, with iterators for lists whose items are made as they are sent. */
export function jsonPiecesReply(value: object): StreamedReply {
  const headers = ['Content-Type', 'application/json']
  return piecesReply({ headers, pieces: jsonPieces(value), bytes: undefined })
}
