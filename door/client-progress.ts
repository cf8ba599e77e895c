import type { ServerResponse } from 'node:http'
import type { Sending } from './replies.ts'

type Waiting = Pick<Sending, 'clock' | 'writeTimeoutMs'> & Partial<Pick<Sending, 'signal'>>

/**
 * Waits for a client: `drain` comes when it has taken what was written, `finish` when it has taken the whole answer.
 * Resolves with the event, when the connection ends, or when the signal aborts; the caller looks which it was. A client
 * that lets the event wait for the write timeout is disconnected.
 *
 * It suits writes of some hundred kilobytes: a client that reads slowly takes them in time. For longer ones see
 * page-stream.ts, which counts every byte that leaves as progress.
 */
export function clientProgress(
  response: ServerResponse,
  event: 'drain' | 'finish',
  { clock, writeTimeoutMs, signal }: Waiting,
): Promise<void> {
  // A client that had left before causes no further event.
  if (response.destroyed || signal?.aborted === true) return Promise.resolve()
  const { promise, resolve } = Promise.withResolvers<void>()
  const over = new AbortController()
  const done = (): void => {
    response.off(event, done)
    response.off('close', done)
    signal?.removeEventListener('abort', done)
    over.abort()
    resolve()
  }
  response.once(event, done)
  response.once('close', done)
  signal?.addEventListener('abort', done)
  void clock.sleep(writeTimeoutMs, over.signal).then(
    () => response.destroy(),
    () => undefined, // the client has taken it, or has gone
  )
  return promise
}
