// Server-sent events (https://html.spec.whatwg.org/multipage/server-sent-events.html), at the speed
// of the client.
//
// Invariants:
//   ES1  At most one event waits in memory: the next is asked for when the last has left.
//   ES2  `[DONE]` is sent exactly if everything before it was; after an error comes its body instead.

import { once } from 'node:events'
import type { ServerResponse } from 'node:http'
import type { Clock } from '../../lib/clock.ts'
import { NOSNIFF } from '../../lib/http/reply.ts'

const HEADERS = [
  'Content-Type',
  'text/event-stream; charset=utf-8',
  'Cache-Control',
  'no-cache',
  // Proxies that collect an answer before they pass it on would defeat the stream.
  'X-Accel-Buffering',
  'no',
  ...NOSNIFF,
]
/** Something is written at least this often, so that nobody in between takes the silence for an end. */
const PING_PERIOD_MS = 15_000

export interface EventStreamOptions {
  readonly clock: Clock
  /** Aborts when the client goes away, or the request has taken too long. */
  readonly signal: AbortSignal
  readonly errorBodyOf: (error: unknown) => object
}

/** Rejects if the first event fails: then nothing was sent, and a normal error reply is possible. */
export async function sendEvents(
  response: ServerResponse,
  events: AsyncIterable<string>,
  { clock, signal, errorBodyOf }: EventStreamOptions,
): Promise<void> {
  const iterator = events[Symbol.asyncIterator]()
  let next = await iterator.next()
  response.writeHead(200, HEADERS)
  const stopPinging = clock.every(PING_PERIOD_MS, async () => {
    if (!response.destroyed) response.write(': still here\n\n')
  })
  try {
    while (next.done !== true) {
      const isTaken = response.write(`data: ${next.value}\n\n`)
      if (!isTaken) await once(response, 'drain', { signal })
      next = await iterator.next()
    }
    response.end('data: [DONE]\n\n')
  } catch (error) {
    if (!response.destroyed) response.end(`data: ${JSON.stringify(errorBodyOf(error))}\n\n`)
  } finally {
    await stopPinging()
    await iterator.return?.()
  }
}
