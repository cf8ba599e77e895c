// One request and its answer: what both doors do alike once they know the operation.

import type { ServerResponse } from 'node:http'
import type { Clock } from '../../lib/clock.ts'
import type { ErrorTranslator } from '../../lib/http/error-translator.ts'
import { errorReply } from './error-status.ts'
import type { OperationMetrics } from './metrics.ts'
import { sendPages } from './page-stream.ts'
import { sendBytes } from '../../lib/http/reply.ts'
import type { Reply } from '../../lib/http/reply.ts'

export interface ExchangeOptions {
  readonly translator: ErrorTranslator
  readonly clock: Clock
  readonly writeTimeoutMs: number
}

export interface Exchange {
  readonly response: ServerResponse
  readonly metrics: OperationMetrics
}

/** Sends what `produce` returns, or what it throws as an error. Never rejects. */
export async function answer(
  { response, metrics }: Exchange,
  { translator, clock, writeTimeoutMs }: ExchangeOptions,
  produce: (signal: AbortSignal) => Promise<Reply>,
): Promise<void> {
  const startMs = clock.monotonicMs()
  const { signal } = watchClient(response)
  const errorBodyOf = (error: unknown) => translator.bodyOf(error)
  let status = 200
  try {
    const reply = await produce(signal)
    if (reply.kind === 'pages') {
      await sendPages(response, reply.pages, { writeTimeoutMs, signal, errorBodyOf })
    } else {
      status = reply.status
      sendBytes(response, reply)
    }
  } catch (error) {
    const reply = errorReply(translator.bodyOf(error))
    status = reply.status
    sendBytes(response, reply)
  }
  metrics.record(status, clock.monotonicMs() - startMs)
}

function watchClient(response: ServerResponse): AbortController {
  const gone = new AbortController()
  response.once('close', () => {
    if (!response.writableFinished) gone.abort()
  })
  return gone
}
