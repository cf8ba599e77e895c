// Server-sent events (https://html.spec.whatwg.org/multipage/server-sent-events.html), at the speed
// of the client.
//
// Invariants:
//   ES1  At most one event waits in memory: the next is asked for when the last has left.
//   ES2  `[DONE]` is sent exactly if everything before it was; after an error comes its body instead.
//   ES3  A client that does not take an event within the write timeout is disconnected: it would hold its
//        generation for as long as it likes.

import { clientProgress } from '../../door/client-progress.ts'
import type { Sending, StreamedReply } from '../../door/replies.ts'
import { headersOfAll } from '../../lib/http/reply.ts'
import { untilTaken } from './answer-sender.ts'

/** Events for pages and OpenAI's clients, or lines of JSON for Ollama's. */
export type EventFormat = 'sse' | 'lines'

const TYPE_BY_FORMAT: Readonly<Record<EventFormat, string>> = {
  sse: 'text/event-stream; charset=utf-8',
  lines: 'application/x-ndjson',
}

const HEADERS = [
  'Cache-Control',
  'no-cache',
  // Proxies that collect an answer before they pass it on would defeat the stream.
  'X-Accel-Buffering',
  'no',
]
/** The stream writes at least this often, so that no proxy takes the silence for an end. */
const PING_PERIOD_MS = 15_000

/** Server-sent events or lines of JSON; `events` are the data of each. */
export function eventsReply(format: EventFormat, events: AsyncIterable<string>): StreamedReply {
  const send = async (sending: Sending): Promise<void> => {
    await sendEvents(events, format, sending)
    await untilTaken(sending)
  }
  return { kind: 'streamed', status: 200, send }
}

/** Rejects if the first event fails: then nothing was sent, and a normal error reply is possible. */
export async function sendEvents(
  events: AsyncIterable<string>,
  format: EventFormat,
  sending: Omit<Sending, 'memory'>,
): Promise<void> {
  const { response, clock, errorBodyOf } = sending
  const iterator = events[Symbol.asyncIterator]()
  let next = await iterator.next()
  const type = ['Content-Type', TYPE_BY_FORMAT[format]]
  response.writeHead(200, [...type, ...HEADERS, ...headersOfAll(response)])
  const framed = (data: string): string => (format === 'sse' ? `data: ${data}\n\n` : `${data}\n`)
  const stopPinging = clock.every(PING_PERIOD_MS, async () => {
    // Lines of JSON have no comments; an empty one is passed over.
    if (!response.destroyed) response.write(format === 'sse' ? ': still here\n\n' : '\n')
  })
  try {
    while (next.done !== true) {
      if (!response.write(framed(next.value))) await untilRead(sending)
      if (response.destroyed) return
      next = await iterator.next()
    }
    response.end(format === 'sse' ? framed('[DONE]') : undefined)
  } catch (error) {
    if (!response.destroyed) response.end(framed(JSON.stringify(errorBodyOf(error))))
  } finally {
    await stopPinging()
    await iterator.return?.()
  }
}

/** Throws the reason of an abort. */
async function untilRead(sending: Omit<Sending, 'memory' | 'errorBodyOf'>): Promise<void> {
  await clientProgress(sending.response, 'drain', sending)
  sending.signal.throwIfAborted()
}
