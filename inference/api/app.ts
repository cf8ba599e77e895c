// The front door: every operation of the contract, checked and answered.

import express from 'express'
import type { Express, Request, Response } from 'express'
import { must } from '../../lib/assert.ts'
import type { Clock } from '../../lib/clock.ts'
import { ServiceError } from '../../lib/errors.ts'
import { sendBytes } from '../../lib/http/reply.ts'
import { bodyMissing, readBody } from '../../lib/http/request-body.ts'
import { requestIdOf } from '../../lib/http/request-id.ts'
import type { HeldMemory, RequestMemory } from '../../lib/http/request-memory.ts'
import type { Log } from '../../lib/log.ts'
import { runSliced, SliceClock } from '../../lib/sliced.ts'
import type { Random } from '../../lib/random.ts'
import type { Operation } from '../../openapi/contract.ts'
import type { RequestGate } from '../batching/request-gate.ts'
import { sendAnswer, untilTaken } from './answer-sender.ts'
import { docs } from './docs.ts'
import { errorBodyFor, errorReply } from './error-status.ts'
import type { ErrorTranslator, FailedRequest } from '../../lib/http/error-translator.ts'
import { sendEvents } from './event-stream.ts'
import { handlerByOperation } from './handler-table.ts'
import { parseJsonInSteps } from './json-parser.ts'
import { matchPath } from './path-template.ts'
import { NO_OPERATION } from './metrics.ts'
import type { InferenceMetrics } from './metrics.ts'
import type { ApiContext, Reply } from './operation.ts'
import { buildInferenceValidator } from './request-validator.ts'
import type { RequestValidator } from '../../openapi/request-validator.ts'

export interface AppOptions {
  readonly context: ApiContext
  readonly translator: ErrorTranslator
  readonly metrics: InferenceMetrics
  readonly gate: RequestGate
  /** Of bodies and of what becomes of them, of all requests together. */
  readonly memory: RequestMemory
  readonly clock: Clock
  readonly random: Random
  readonly bodyBytesMax: number
  /** From the headers to the end of the answer; streams included. */
  readonly requestTimeoutMs: number
  /** Is told of every answer, at level debug; undefined: it is not. */
  readonly requestLog: Log | undefined
}

export function buildApp(options: AppOptions): Express {
  const frontDoor = new FrontDoor(options)
  const app = express()
  app.disable('x-powered-by')
  app.use((request, response) => frontDoor.answer(request, response))
  return app
}

interface Exchange {
  readonly operation: Operation
  readonly request: Request
  readonly response: Response
  readonly signal: AbortSignal
}

class FrontDoor {
  readonly #options: AppOptions
  readonly #validate: RequestValidator

  constructor(options: AppOptions) {
    this.#options = options
    this.#validate = buildInferenceValidator(options.context.contract)
  }

  async answer(request: Request, response: Response): Promise<void> {
    const { clock, translator, metrics, requestLog: log } = this.#options
    // node:http has noted already that an answer to HEAD has no body; from here on it is a GET.
    if (request.method === 'HEAD') request.method = 'GET'
    const { path } = request
    const startMs = clock.monotonicMs()
    const operation = this.#operationOf(request)
    const watch = this.#watch(response)
    try {
      if (operation === undefined) await this.#answerAstray(request, response)
      else await this.#perform(operation, { operation, request, response, signal: watch.signal })
    } catch (error) {
      sendBytes(response, errorReply(path, translator.bodyOf(error, failedOf(response, operation))))
    } finally {
      watch.end()
    }
    const status = response.headersSent ? response.statusCode : CLIENT_GONE_STATUS
    const { requestId, operation: name } = failedOf(response, operation)
    const elapsedMs = clock.monotonicMs() - startMs
    metrics.request(name, status, elapsedMs)
    if (log === undefined) return
    const ms = Math.round(elapsedMs * 1000) / 1000
    const { method, url } = request
    log.debug('request answered', { requestId, operation: name, method, url, status, ms })
  }

  #operationOf({ method, path }: Request): Operation | undefined {
    const { operations } = this.#options.context.contract
    return operations.find((each) => each.method === method && matchPath(each.template, path))
  }

  /** Aborts when the client goes away or the time is over, whichever comes first. */
  #watch(response: Response): { readonly signal: AbortSignal; end(this: void): void } {
    const { clock, requestTimeoutMs } = this.#options
    const controller = new AbortController()
    const over = new AbortController()
    response.once('close', () => {
      if (response.writableFinished) return
      controller.abort(new ServiceError('CANCELLED', 'the client went away'))
    })
    void clock.sleep(requestTimeoutMs, over.signal).then(
      () => controller.abort(tookTooLong(requestTimeoutMs)),
      () => undefined, // answered in time
    )
    return { signal: controller.signal, end: () => over.abort() }
  }

  /** The place is taken before the body is read, so that bodies that wait are not in memory. */
  async #perform(operation: Operation, exchange: Exchange): Promise<void> {
    using memory = this.#options.memory.hold()
    if (operation.method === 'GET') return this.#handle(operation, exchange, { memory })
    const leave = await this.#options.gate.enter(exchange.signal)
    try {
      const json = await this.#readJson(exchange, memory)
      await this.#handle(operation, exchange, { memory, json })
    } finally {
      leave()
    }
  }

  /** The bytes let go as soon as they are parsed stay charged: for the texts that they became. */
  async #readJson({ request, signal }: Exchange, memory: HeldMemory): Promise<unknown> {
    const { bodyBytesMax: bytesMax, clock } = this.#options
    const body = await readBody(request, { bytesMax, memory })
    if (body.length === 0) throw bodyMissing()
    // While it is parsed, a body is there twice.
    memory.add(body.length)
    return runSliced(parseJsonInSteps(body), { clock, signal })
  }

  async #handle(
    operation: Operation,
    exchange: Exchange,
    { memory, json }: { readonly memory: HeldMemory; readonly json?: unknown },
  ): Promise<void> {
    const { request, response, signal } = exchange
    const { context, clock, random } = this.#options
    const slice = new SliceClock(clock)
    await this.#validate({ request, response, json })
    // A text of the largest size is put together by whoever reads it first.
    if (slice.isOver) await slice.turn()
    const { operationId } = operation
    const handler = must(handlerByOperation.get(operationId), `handler of ${operationId}`)
    const parameters = matchPath(operation.template, request.path) ?? {}
    const accept = request.get('accept')
    const asked = { accept, parameters, json, signal, memory, clock, random }
    await this.#send(await handler(asked, context), exchange)
  }

  async #send(reply: Reply, { operation, request, response, signal }: Exchange): Promise<void> {
    const { clock, translator } = this.#options
    if (reply.kind !== 'events') return sendAnswer(response, reply, { clock, signal })
    const failed = failedOf(response, operation)
    const errorBodyOf = (error: unknown) =>
      errorBodyFor(request.path, translator.bodyOf(error, failed))
    const { format } = reply
    await sendEvents(response, reply.events, { clock, signal, errorBodyOf, format })
    await untilTaken(response, clock)
  }

  async #answerAstray({ method, path }: Request, response: Response): Promise<void> {
    const asset = method === 'GET' ? await docs.asset(path) : undefined
    if (asset !== undefined) return sendBytes(response, asset)
    const { operations } = this.#options.context.contract
    const allow = operations
      .filter(({ template }) => matchPath(template, path))
      .map((each) => each.method)
    const shown = `${method} ${path.slice(0, SHOWN_PATH_LENGTH_MAX)}`
    if (allow.length === 0) {
      const error = `no such route ${shown}; see /api/docs`
      return sendBytes(response, errorReply(path, { error, code: 'NOT_FOUND' }))
    }
    const methods = allow.flatMap((each) => (each === 'GET' ? ['GET', 'HEAD'] : [each])).join(', ')
    const error = `${shown} is not possible; this route allows ${methods}`
    sendBytes(response, errorReply(path, { error, code: 'METHOD_NOT_ALLOWED' }, ['Allow', methods]))
  }
}

function failedOf(response: Response, operation: Operation | undefined): FailedRequest {
  return {
    requestId: requestIdOf(response),
    operation: operation?.operationId ?? NO_OPERATION,
  }
}

function tookTooLong(timeoutMs: number): ServiceError {
  const message = `the request took longer than ${timeoutMs} ms; send less in one, or try again later`
  return new ServiceError('DEADLINE_EXCEEDED', message)
}

const SHOWN_PATH_LENGTH_MAX = 256
/** What is counted for an answer that nobody was there to get. */
const CLIENT_GONE_STATUS = 499
