// One request and its answer: what both doors do alike once they know the operation.

import type { ServerResponse } from 'node:http'
import type { Clock } from '../../lib/clock.ts'
import { ServiceError } from '../../lib/errors.ts'
import type { ErrorTranslator } from '../../lib/http/error-translator.ts'
import { isLarge, sendHeld } from '../../lib/http/held-reply.ts'
import type { LoopWatch } from '../../lib/loop-watch.ts'
import { sendBytes } from '../../lib/http/reply.ts'
import type { BytesReply, PagesReply, Reply } from '../../lib/http/reply.ts'
import { requestIdOf } from '../../lib/http/request-id.ts'
import type { HeldMemory, RequestMemory } from '../../lib/http/request-memory.ts'
import { errorReply } from './error-status.ts'
import type { OperationMetrics } from './metrics.ts'
import { sendPages } from './page-stream.ts'

const CLIENT_GONE_STATUS = 499

export interface ExchangeOptions {
  readonly translator: ErrorTranslator
  readonly clock: Clock
  readonly writeTimeoutMs: number
  readonly memory: RequestMemory
  readonly loop: LoopWatch
  /** Hears of every answer; undefined: nobody wants to know. */
  readonly onAnswered: OnAnswered | undefined
}

export interface Answered {
  readonly response: ServerResponse
  readonly operation: string
  readonly status: number
  readonly elapsedMs: number
}

export type OnAnswered = (answered: Answered) => void

export interface Exchange {
  readonly response: ServerResponse
  readonly metrics: OperationMetrics
  /** Monotonic time; undefined: now. */
  readonly startMs?: number
}

/** What a request has until it is answered. */
export interface RequestScope {
  /** Aborts with CANCELLED when the client goes away before its answer. */
  readonly signal: AbortSignal
  /** Charged with the bytes that the request keeps, its answer included. */
  readonly memory: HeldMemory
}

/** Sends what `produce` returns, or what it throws as an error. Never rejects. */
export async function answer(
  { response, metrics, startMs: begunMs }: Exchange,
  options: ExchangeOptions,
  produce: (scope: RequestScope) => Promise<Reply>,
): Promise<void> {
  const { clock, translator, loop, memory: budget, onAnswered } = options
  const { operation } = metrics
  loop.enter(metrics.number)
  const startMs = begunMs ?? clock.monotonicMs()
  const { signal } = watchClient(response)
  const memory = budget.hold()
  const scope = { signal, memory }
  let status: number
  try {
    const reply = await produce(scope)
    const sent = send(response, reply, { operation, scope, options })
    status = typeof sent === 'number' ? sent : await sent
  } catch (error) {
    const failed = { requestId: requestIdOf(response), operation }
    const reply = errorReply(translator.bodyOf(reasonOf(error, signal), failed))
    status = reply.status
    sendBytes(response, reply)
  }
  memory[Symbol.dispose]()
  const elapsedMs = clock.monotonicMs() - startMs
  metrics.record(status, elapsedMs)
  loop.leave()
  onAnswered?.({ response, operation, status, elapsedMs })
}

interface Sending {
  readonly operation: string
  readonly scope: RequestScope
  readonly options: ExchangeOptions
}

/** Answers the status that counts. */
function send(response: ServerResponse, reply: Reply, sending: Sending): number | Promise<number> {
  if (reply.kind === 'pages') return sendAllPages(response, reply, sending)
  if (isLarge(reply)) return sendLarge(response, reply, sending)
  sendBytes(response, reply)
  return reply.status
}

async function sendLarge(
  response: ServerResponse,
  reply: BytesReply,
  { scope: { memory }, options: { writeTimeoutMs } }: Sending,
): Promise<number> {
  await sendHeld(response, reply, { memory, writeTimeoutMs })
  return reply.status
}

async function sendAllPages(
  response: ServerResponse,
  reply: PagesReply,
  { operation, scope: { signal, memory }, options: { translator, writeTimeoutMs } }: Sending,
): Promise<number> {
  const failed = { requestId: requestIdOf(response), operation }
  const errorBodyOf = (error: unknown) => translator.bodyOf(reasonOf(error, signal), failed)
  await sendPages(response, reply, { writeTimeoutMs, signal, memory, errorBodyOf })
  return signal.aborted ? CLIENT_GONE_STATUS : reply.status
}

/** What waits for a signal may reject with an error that only says that it aborted. */
function reasonOf(error: unknown, signal: AbortSignal): unknown {
  const isAbort = signal.aborted && error instanceof Error && error.name === 'AbortError'
  return isAbort ? signal.reason : error
}

function watchClient(response: ServerResponse): AbortController {
  const gone = new AbortController()
  response.once('close', () => {
    if (response.writableFinished) return
    gone.abort(new ServiceError('CANCELLED', 'the client went away'))
  })
  return gone
}
