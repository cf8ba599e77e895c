// Sends answers at the speed of the client, and knows when they have left: until then a request
// counts as running, so that answers nobody reads are never more in memory than requests may run.
//
// Invariants:
//   AS1  Of an answer in pieces no more is held than what is written at once and what the connection
//        holds of it.
//   AS2  A cut answer is seen: by its length, or because the end of its chunks is missing.

import { clientProgress } from '../../door/client-progress.ts'
import type { Sending } from '../../door/replies.ts'
import type { Clock } from '../../lib/clock.ts'
import { bytesReply, headersOfAll, sendBytes } from '../../lib/http/reply.ts'
import { SliceClock } from '../../lib/sliced.ts'

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

/** What is written at once; a client's progress shows between two of them. */
const SLICE_BYTES = 256 * 1024

type PieceSending = Pick<Sending, 'response' | 'clock' | 'writeTimeoutMs' | 'signal'>

/** Call it after the end of an answer. Resolves when all of it has left or the client has gone. */
export async function untilTaken({
  response,
  clock,
  writeTimeoutMs,
}: Omit<PieceSending, 'signal'>): Promise<void> {
  if (response.writableFinished) return
  await clientProgress(response, 'finish', { clock, writeTimeoutMs })
}

/**
 * Resolves when the answer has left or the client has gone. An answer that is made in one slice is sent
 * whole, with its `Content-Length`.
 */
export async function sendPieces(reply: Pieces, sending: PieceSending): Promise<void> {
  await writePieces(reply, sending)
  await untilTaken(sending)
}

async function writePieces(
  { pieces, headers, bytes }: Pieces,
  sending: PieceSending,
): Promise<void> {
  const { response, clock } = sending
  const joined = joinedSlices(pieces, clock)
  const first = await joined.next()
  const second = first.done === true ? first : await joined.next()
  if (second.done === true) {
    return sendBytes(response, bytesReply(200, first.value ?? Buffer.alloc(0), headers))
  }
  if (response.destroyed || response.headersSent) return
  const length = bytes === undefined ? [] : ['Content-Length', String(bytes)]
  response.writeHead(200, [...headers, ...headersOfAll(response), ...length])
  await writeSlices(followed([first.value, second.value], joined), sending)
}

async function* followed(
  before: readonly (Buffer | undefined)[],
  rest: AsyncIterable<Buffer>,
): AsyncGenerator<Buffer> {
  for (const slice of before) if (slice !== undefined) yield slice
  yield* rest
}

/** Joins pieces to the size of one write, and takes turns of the event loop while they are made. */
async function* joinedSlices(
  pieces: Iterator<string | Buffer>,
  clock: Clock,
): AsyncGenerator<Buffer, undefined> {
  let held: Buffer[] = []
  let texts: string[] = []
  let heldBytes = 0
  const flushTexts = (): void => {
    if (texts.length > 0) held.push(Buffer.from(texts.join('')))
    texts = []
  }
  const slice = new SliceClock(clock)
  for (let next = pieces.next(); next.done !== true; next = pieces.next()) {
    const piece = next.value
    if (typeof piece === 'string') texts.push(piece)
    else {
      flushTexts()
      held.push(piece)
    }
    heldBytes += piece.length
    if (heldBytes >= SLICE_BYTES) {
      flushTexts()
      yield Buffer.concat(held)
      held = []
      heldBytes = 0
    }
    if (slice.isOver) await slice.turn()
  }
  flushTexts()
  if (held.length > 0) yield Buffer.concat(held)
  return undefined
}

async function writeSlices(slices: AsyncIterable<Buffer>, sending: PieceSending): Promise<void> {
  const { response, signal } = sending
  for await (const slice of slices) {
    const isTaken = response.write(slice)
    if (!isTaken) await clientProgress(response, 'drain', sending)
    if (response.destroyed) return
    if (signal.aborted) return void response.destroy()
  }
  response.end()
}
