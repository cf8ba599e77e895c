// Sends pages at the speed of the client.
//
// A page may be as large as the largest document: every byte that leaves is progress, and the request is over when the
// last page is written. Answers of the inference server (inference/api/answer-sender.ts) are written in pieces of a
// fixed size, each of which has to be taken in time, and their requests count as running until all has left.
//
// Invariants:
//   P1  At most one page waits in memory: the next is asked for when the last has left.
//   P2  A stream that ends properly (with the last chunk) is complete. After an error the connection
//       breaks off without its proper end; the last line of NDJSON is an error body then.
//   P3  A client that takes nothing for the write timeout is disconnected.

import { once } from 'node:events'
import type { ServerResponse } from 'node:http'
import { HeldPart } from '../lib/http/request-memory.ts'
import { headersOfAll } from '../lib/http/reply.ts'
import type { Sending, StreamedReply } from './replies.ts'

/** The pages are asked for one by one, at the speed of the client. */
export interface Pages {
  readonly status?: 200 | 201
  /** Pages of NDJSON hold whole lines, so that an error can be one more of them. */
  readonly contentType: 'application/x-ndjson' | 'application/json'
  readonly pages: AsyncIterable<Buffer>
  /** Names and values by turns, beside the content type. */
  readonly headers?: readonly string[]
}

/** An answer in pages that are asked for as the client reads them. */
export function pagesReply(reply: Pages): StreamedReply {
  const { status = 200, contentType, pages, headers = [] } = reply
  const send = (sending: Sending): Promise<void> =>
    sendPages({ status, contentType, pages, headers }, sending)
  return { kind: 'streamed', status, send }
}

/** Rejects if the first page fails: then nothing was sent, and a normal error reply is possible. */
async function sendPages(
  { pages, status, contentType, headers }: Required<Pages>,
  sending: Sending,
): Promise<void> {
  const { response, writeTimeoutMs, signal, errorBodyOf } = sending
  const iterator = pages[Symbol.asyncIterator]()
  let next = await iterator.next()
  watchReader(response, writeTimeoutMs)
  try {
    const own = ['Content-Type', contentType, ...headers]
    response.writeHead(status, [...own, ...headersOfAll(response)])
    while (next.done !== true) {
      await sendPage(next.value, sending)
      next = await iterator.next()
    }
    response.end()
  } catch (error) {
    const body = errorBodyOf(error)
    const hasReader = !signal.aborted && contentType === 'application/x-ndjson'
    breakOff(response, hasReader ? body : undefined)
  } finally {
    await iterator.return?.()
  }
}

/** The bytes that wait for the client are charged to the request, before the socket has them. */
async function sendPage(page: Buffer, { response, signal, memory }: Sending): Promise<void> {
  using held = new HeldPart(memory)
  held.set(page.length)
  if (response.write(page)) return
  await once(response, 'drain', { signal })
}

/**
 * The socket's own timer begins again whenever bytes leave, so slow is not the same as stuck. Time
 * spent waiting for the next page is not the client's fault. A proper end resets the timer.
 */
function watchReader(response: ServerResponse, writeTimeoutMs: number): void {
  response.setTimeout(writeTimeoutMs, () => {
    if (response.writableLength > 0) response.destroy()
  })
}

function breakOff(response: ServerResponse, body: object | undefined): void {
  if (body === undefined) return void response.destroy()
  response.write(`${JSON.stringify(body)}\n`, () => response.destroy())
}
