// Answers of any length: a short one is sent whole, a long one in pages as it is written.

import type { Clock } from '../../lib/clock.ts'
import { jsonBytesReply } from '../../lib/http/reply.ts'
import { pagesReply } from '../../door/page-stream.ts'
import type { Reply } from '../../door/replies.ts'
import { SliceClock, type Sliced } from '../../lib/sliced.ts'
import { JsonPieces, writeJson } from './json-pieces.ts'

/** An answer of up to 256 KiB is sent whole; a longer one in pages of about this size. */
const PAGE_BYTES = 256 * 1024

/** The JSON text of a value, whatever its size. */
export async function jsonValueReply(
  value: unknown,
  clock: Clock,
  status: 200 | 201 = 200,
): Promise<Reply> {
  const pieces = new JsonPieces()
  return piecesReply(pieces, paced(writeJson(value, pieces), clock), status)
}

/**
 * Sends the JSON text that `steps` write into `pieces`, and may send a page after each step. An error of
 * `steps` before the first page is thrown here; a later one breaks the answer off.
 */
export async function piecesReply(
  pieces: JsonPieces,
  steps: AsyncGenerator<undefined>,
  status: 200 | 201 = 200,
): Promise<Reply> {
  while (pieces.bytes < PAGE_BYTES) {
    const { done = false } = await steps.next()
    if (done) return jsonBytesReply(status, Buffer.concat(pieces.take()))
  }
  return pagesReply({ status, contentType: 'application/json', pages: pagesOf(pieces, steps) })
}

async function* pagesOf(
  pieces: JsonPieces,
  steps: AsyncGenerator<undefined>,
): AsyncGenerator<Buffer> {
  yield* pieces.take()
  for await (const _ of steps) {
    if (pieces.bytes >= PAGE_BYTES) yield* pieces.take()
  }
  yield* pieces.take()
}

/** The steps of a computation, with a turn of the event loop whenever a slice is over. */
export async function* paced(work: Sliced<unknown>, clock: Clock): AsyncGenerator<undefined> {
  const slice = new SliceClock(clock)
  for (const _ of work) {
    yield
    if (slice.isOver) await slice.turn()
  }
}
