// Long answers, made while they are sent.

import type { Pieces } from './answer-sender.ts'
import type { StreamedReply } from '../../door/replies.ts'
import { sendPieces } from './answer-sender.ts'
import { jsonPieces } from './json-pieces.ts'

export function piecesReply(pieces: Pieces): StreamedReply {
  return { kind: 'streamed', status: 200, send: (sending) => sendPieces(pieces, sending) }
}

/** `value` is data, with iterators for lists whose items are made as they are sent. */
export function jsonPiecesReply(value: object): StreamedReply {
  const headers = ['Content-Type', 'application/json']
  return piecesReply({ headers, pieces: jsonPieces(value), bytes: undefined })
}
