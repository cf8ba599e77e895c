// Sends whole answers at the speed of the client, and knows when they have left: until then a request
// counts as running, so that answers nobody reads are never more in memory than requests may run.

import type { ServerResponse } from 'node:http'
import type { Clock } from '../../lib/clock.ts'
import { sendBytes, sendHead } from '../../lib/http/reply.ts'
import type { BytesReply } from '../../lib/http/reply.ts'

/** A client that takes nothing for this long is cut off. */
export const STALL_MS_MAX = 30_000
/** What is written at once; a client's progress shows between two of them. */
const SLICE_BYTES = 256 * 1024

export interface SendOptions {
  readonly clock: Clock
  /** Aborts when the request has taken too long. */
  readonly signal: AbortSignal
}

/** Resolves when the answer has left, or the client has. */
export async function sendAnswer(
  response: ServerResponse,
  reply: BytesReply,
  options: SendOptions,
): Promise<void> {
  if (reply.body.length <= SLICE_BYTES) sendBytes(response, reply)
  else if (sendHead(response, reply)) await writeSlices(response, reply.body, options)
  await untilTaken(response, options.clock)
}

/** For an answer that has ended: resolves when all of it has left, or the client has. */
export async function untilTaken(response: ServerResponse, clock: Clock): Promise<void> {
  if (!response.writableFinished && !response.destroyed) await progress(response, 'finish', clock)
}

async function writeSlices(
  response: ServerResponse,
  body: Buffer,
  { clock, signal }: SendOptions,
): Promise<void> {
  for (let from = 0; from < body.length; from += SLICE_BYTES) {
    const isTaken = response.write(body.subarray(from, from + SLICE_BYTES))
    if (!isTaken) await progress(response, 'drain', clock)
    if (response.destroyed) return
    if (signal.aborted) return void response.destroy() // a cut answer is seen by its length
  }
  response.end()
}

/** Resolves with the event, or with the connection's end, which comes at last. */
function progress(
  response: ServerResponse,
  event: 'drain' | 'finish',
  clock: Clock,
): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>()
  const over = new AbortController()
  const done = (): void => {
    response.off(event, done)
    response.off('close', done)
    over.abort()
    resolve()
  }
  response.once(event, done)
  response.once('close', done)
  void clock.sleep(STALL_MS_MAX, over.signal).then(
    () => response.destroy(),
    () => undefined, // it went on
  )
  return promise
}
