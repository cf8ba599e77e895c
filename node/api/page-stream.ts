// Sends pages at the speed of the client.
//
// Invariants:
//   P1  At most one page waits in memory: the next is asked for when the last has left.
//   P2  A stream that ends properly (with the last chunk) is complete. After an error the connection
//       breaks off without its proper end; the last line of NDJSON is an error body then.
//   P3  A client that takes nothing for the write timeout is disconnected.

import { once } from 'node:events'
import type { ServerResponse } from 'node:http'
import { headersOfAll } from '../../lib/http/reply.ts'
import type { PagesReply } from '../../lib/http/reply.ts'
import type { HeldMemory } from '../../lib/http/request-memory.ts'
import type { ErrorBody } from '../../lib/http/error-translator.ts'

export interface PageStreamOptions {
  readonly writeTimeoutMs: number
  /** Aborts when the client goes away. */
  readonly signal: AbortSignal
  readonly memory: HeldMemory
  readonly errorBodyOf: (error: unknown) => ErrorBody
}

/** Rejects if the first page fails: then nothing was sent, and a normal error reply is possible. */
export async function sendPages(
  response: ServerResponse,
  { pages, status, contentType }: PagesReply,
  options: PageStreamOptions,
): Promise<void> {
  const iterator = pages[Symbol.asyncIterator]()
  let next = await iterator.next()
  watchReader(response, options.writeTimeoutMs)
  try {
    response.writeHead(status, ['Content-Type', contentType, ...headersOfAll(response)])
    while (next.done !== true) {
      await sendPage(response, next.value, options)
      next = await iterator.next()
    }
    response.end()
  } catch (error) {
    const body = options.errorBodyOf(error)
    const hasReader = !options.signal.aborted && contentType === 'application/x-ndjson'
    breakOff(response, hasReader ? body : undefined)
  } finally {
    await iterator.return?.()
  }
}

/** What waits for the client is charged to the request. */
async function sendPage(
  response: ServerResponse,
  page: Buffer,
  { signal, memory }: PageStreamOptions,
): Promise<void> {
  if (response.write(page)) return
  memory.add(page.length)
  await once(response, 'drain', { signal })
  memory.release(page.length)
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

function breakOff(response: ServerResponse, body: ErrorBody | undefined): void {
  if (body === undefined) return void response.destroy()
  response.write(`${JSON.stringify(body)}\n`, () => response.destroy())
}
