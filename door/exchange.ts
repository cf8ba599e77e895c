// One request and its answer: what both ways through the door do alike once they know the operation.
//
// Most requests need neither a signal nor memory of their own, so both are made at their first use.

import type { IncomingHttpHeaders } from 'node:http'
import { must } from '../lib/assert.ts'
import type { Clock } from '../lib/clock.ts'
import { ServiceError } from '../lib/errors.ts'
import type { ErrorBody, ErrorTranslator } from '../lib/http/error-translator.ts'
import { isLarge } from '../lib/http/held-reply.ts'
import type { HeldMemory, RequestMemory } from '../lib/http/request-memory.ts'
import type { LoopWatch } from '../lib/loop-watch.ts'
import type { Call } from './call.ts'
import type { Operation } from './contract.ts'
import type { OperationRequest } from './operation.ts'
import { ANONYMOUS, type AccessPolicy, type Principal } from './principal.ts'
import type { ErrorReplies, Reply, Sending } from './replies.ts'
import type { OperationMetrics } from './request-metrics.ts'

/** The status that is counted for an answer whose client had gone. */
const CLIENT_GONE_STATUS = 499
const NONE: Readonly<Record<string, never>> = Object.freeze({})
const EMPTY = Buffer.alloc(0)

/** What all requests of a server share. */
export interface ExchangeOptions {
  readonly translator: ErrorTranslator
  readonly clock: Clock
  readonly memory: RequestMemory
  readonly errors: ErrorReplies
  readonly policy: AccessPolicy
  readonly writeTimeoutMs: number
  /** From the headers to the end of the answer, streams included; undefined: no limit. */
  readonly requestTimeoutMs: number | undefined
  readonly loop: LoopWatch | undefined
  /** Called for every answer. Undefined if no log needs them. */
  readonly onAnswered: OnAnswered
}

/** An answer that has left, or that its client no longer waited for. */
export interface Answered {
  readonly call: Call
  readonly operation: string
  readonly status: number
  readonly elapsedMs: number
}

export type OnAnswered = (answered: Answered) => void

/** A request, its answer, and where it is counted. */
export interface ExchangeOf {
  readonly call: Call
  readonly metrics: OperationMetrics
}

/** A request until it is over. Then it is counted once, and its memory and its place are released. */
export class Exchange {
  readonly call: Call
  readonly #metrics: OperationMetrics
  readonly #with: ExchangeOptions
  readonly #startMs: number
  #watch: ClientWatch | undefined
  #memory: HeldMemory | undefined
  #release: (() => void) | undefined
  #isOver = false

  constructor({ call, metrics }: ExchangeOf, options: ExchangeOptions) {
    this.call = call
    this.#metrics = metrics
    this.#with = options
    this.#startMs = options.clock.monotonicMs()
  }

  get signal(): AbortSignal {
    this.#watch ??= new ClientWatch(this.call, this.#with)
    return this.#watch.signal
  }

  get memory(): HeldMemory {
    this.#memory ??= this.#with.memory.hold()
    return this.#memory
  }

  /** Sends what `produce` returns, or what it throws as an error. Never throws. */
  answer(produce: () => Reply | Promise<Reply>): void {
    this.#with.loop?.enter(this.#metrics.number)
    try {
      const reply = produce()
      if (reply instanceof Promise) void this.#deliverLater(reply)
      else this.#deliver(reply)
    } catch (error) {
      this.#fail(error)
    }
  }

  /** `release` is called when the answer has left or the client has gone. */
  whenOver(release: () => void): void {
    if (this.#isOver) release()
    else this.#release = release
  }

  /** Work for the request continues after a wait. */
  resume(): void {
    this.#with.loop?.resume(this.#metrics.number)
  }

  async #deliverLater(reply: Promise<Reply>): Promise<void> {
    try {
      this.#deliver(await reply)
    } catch (error) {
      this.#fail(error)
    }
  }

  #deliver(reply: Reply): void {
    if (reply.kind === 'bytes' && !isLarge(reply)) {
      this.call.send(reply)
      return this.#end(reply.status)
    }
    const { call, memory } = this
    const { writeTimeoutMs } = this.#with
    const sent =
      reply.kind === 'bytes'
        ? call.sendHeld(reply, { memory, writeTimeoutMs })
        : reply.send(this.#sending())
    sent
      .then(() => this.#end(this.#isCancelled() ? CLIENT_GONE_STATUS : reply.status))
      .catch((error) => this.#fail(error))
  }

  #sending(): Sending {
    const { call, signal, memory } = this
    const response = must(call.response, 'node:http reads requests whose answers are streamed')
    const { clock, writeTimeoutMs, errors } = this.#with
    const errorBodyOf = (error: unknown): object =>
      errors.bodyFor(this.#path(), this.#errorBodyOf(error))
    return { response, signal, memory, clock, writeTimeoutMs, errorBodyOf }
  }

  #fail(error: unknown): void {
    const reply = this.#with.errors.of(this.#path(), this.#errorBodyOf(error))
    this.call.send(reply)
    this.#end(reply.status)
  }

  #path(): string {
    return this.call.url
  }

  #errorBodyOf(error: unknown): ErrorBody {
    const { operation } = this.#metrics
    const failed = { requestId: this.call.requestId, operation }
    return this.#with.translator.bodyOf(this.#reasonOf(error), failed)
  }

  /** What waits for a signal may reject with an error that only says that it aborted. */
  #reasonOf(error: unknown): unknown {
    const isAbort = error instanceof Error && error.name === 'AbortError'
    return isAbort && this.#watch?.signal.aborted === true ? this.#watch.signal.reason : error
  }

  #isCancelled(): boolean {
    const reason: unknown = this.#watch?.signal.reason
    return reason instanceof ServiceError && reason.code === 'CANCELLED'
  }

  #end(status: number): void {
    if (this.#isOver) return
    this.#isOver = true
    const { clock, loop, onAnswered } = this.#with
    this.#watch?.end()
    this.#release?.()
    this.#memory?.[Symbol.dispose]()
    const elapsedMs = clock.monotonicMs() - this.#startMs
    this.#metrics.record(status, elapsedMs)
    loop?.leave()
    const { call } = this
    onAnswered({ call, operation: this.#metrics.operation, status, elapsedMs })
  }
}

/** A request of an operation; what a handler is given once its path, query, headers and body are known. */
export class OperationExchange extends Exchange implements OperationRequest {
  readonly operation: Operation
  params: Readonly<Record<string, string>> = NONE
  query: Readonly<Record<string, unknown>> = NONE
  principal: Principal = ANONYMOUS
  body: Buffer = EMPTY
  json: unknown = undefined
  readonly #policy: AccessPolicy

  constructor(of: ExchangeOf & { readonly operation: Operation }, options: ExchangeOptions) {
    super(of, options)
    this.operation = of.operation
    this.#policy = options.policy
  }

  get headers(): IncomingHttpHeaders {
    return this.call.headers
  }

  /** Throws FORBIDDEN. It runs before any costly step. */
  admit(): void {
    this.principal = this.#policy.identify(this.call)
    const refusal = this.#policy.authorize(this.principal, this.operation, this.params)
    if (refusal !== undefined) throw refusal
  }
}

/** Aborts when the client goes away or the time is over, whichever comes first. */
class ClientWatch extends AbortController {
  #stopTimer: (() => void) | undefined

  constructor(call: Call, { clock, requestTimeoutMs }: ExchangeOptions) {
    super()
    call.whenGone(() => this.abort(new ServiceError('CANCELLED', 'the client went away')))
    if (requestTimeoutMs === undefined) return
    this.#stopTimer = clock.after(requestTimeoutMs, () => this.abort(tookTooLong(requestTimeoutMs)))
  }

  end(): void {
    this.#stopTimer?.()
  }
}

function tookTooLong(timeoutMs: number): ServiceError {
  const message = `the request took longer than ${timeoutMs} ms; send less in one, or try again later`
  return new ServiceError('DEADLINE_EXCEEDED', message)
}
