// The front door: every operation of the contract, checked and answered.

import express from 'express'
import type { Express, Request, Response } from 'express'
import { must } from '../../lib/assert.ts'
import type { Operation } from '../../openapi/contract.ts'
import { bodyBytesMaxOf } from './body-limits.ts'
import { docs } from './docs.ts'
import { errorReply } from './error-status.ts'
import { answer } from './exchange.ts'
import type { ExchangeOptions, RequestScope } from './exchange.ts'
import { handlerByOperation } from './handler-table.ts'
import { NO_OPERATION } from './metrics.ts'
import type { ApiMetrics } from './metrics.ts'
import type { ApiContext } from './operation.ts'
import type { Reply } from '../../lib/http/reply.ts'
import type { HeldMemory } from '../../lib/http/request-memory.ts'
import {
  AT_ONCE_BYTES_MAX,
  bodyMissing,
  parseJsonBody,
  readBody,
} from '../../lib/http/request-body.ts'
import { SliceClock } from '../../lib/sliced.ts'
import { BYTE_PARSED_OPERATIONS, buildStoreValidator } from './request-validator.ts'
import type { RequestValidator } from '../../openapi/request-validator.ts'
import { RouteTable, decodeParams } from './route-table.ts'
import type { RouteMatch } from './route-table.ts'
import { checkTableName } from './table-name.ts'

export interface AppOptions extends ExchangeOptions {
  readonly context: ApiContext
  readonly metrics: ApiMetrics
  readonly bodyBytesMax: number
}

type Found = Extract<RouteMatch, { kind: 'found' }>
type Astray = Exclude<RouteMatch, Found>

export function buildApp(options: AppOptions): Express {
  const frontDoor = new FrontDoor(options)
  const app = express()
  app.disable('x-powered-by')
  app.use((request, response) => frontDoor.answer(request, response))
  return app
}

class FrontDoor {
  readonly #options: AppOptions
  readonly #routes: RouteTable
  readonly #validate: RequestValidator

  constructor(options: AppOptions) {
    const { contract } = options.context
    this.#options = options
    this.#routes = new RouteTable(contract.operations)
    this.#validate = buildStoreValidator(contract)
  }

  async answer(request: Request, response: Response): Promise<void> {
    // node:http has noted already that an answer to HEAD has no body; from here on it is a GET.
    if (request.method === 'HEAD') request.method = 'GET'
    const route = this.#routes.match(request.method, request.path)
    const operationId = route.kind === 'found' ? route.operation.operationId : NO_OPERATION
    const metrics = this.#options.metrics.of(operationId)
    await answer({ response, metrics }, this.#options, (scope) =>
      route.kind === 'found'
        ? this.#perform(route, { request, response }, scope)
        : answerAstray(route, request),
    )
  }

  async #perform(
    { operation, rawParams }: Found,
    { request, response }: { readonly request: Request; readonly response: Response },
    { signal, memory }: RequestScope,
  ): Promise<Reply> {
    const { operationId } = operation
    const params = decodeParams(rawParams)
    if (params['tableName'] !== undefined) checkTableName(params['tableName'], 'tableName')
    const body = await this.#readBody(operation, request, memory)
    this.#options.loop.resume(this.#options.metrics.of(operationId).number)
    const hasJson = body.length > 0 && !BYTE_PARSED_OPERATIONS.has(operationId)
    const json = hasJson ? parseJsonBody(body) : undefined
    // Each step takes milliseconds for a large body, and none of them can pause.
    const isLarge = hasJson && body.length > AT_ONCE_BYTES_MAX
    if (isLarge) await this.#nextTurn()
    await this.#validate({ request, response, json })
    if (isLarge) await this.#nextTurn()
    const handler = must(handlerByOperation.get(operationId), `handler of ${operationId}`)
    const { query } = request
    const idempotencyKey = request.get('idempotency-key')
    const asked = { operationId, params, query, idempotencyKey, body, json, signal, memory }
    return handler(asked, this.#options.context)
  }

  #nextTurn(): Promise<void> {
    return new SliceClock(this.#options.clock).turn()
  }

  async #readBody(operation: Operation, request: Request, memory: HeldMemory): Promise<Buffer> {
    if (operation.body === 'none') return Buffer.alloc(0)
    const body = await readBody(request, {
      bytesMax: bodyBytesMaxOf(operation.operationId, this.#options.bodyBytesMax),
      allowsLines: LINE_OPERATIONS.has(operation.operationId),
      memory,
    })
    if (body.length === 0 && operation.body === 'required') throw bodyMissing()
    return body
  }
}

/** Operations that take several bodies in one, a line each. */
const LINE_OPERATIONS: ReadonlySet<string> = new Set(['queryGlobal', 'queryTable'])

async function answerAstray(route: Astray, { method, path }: Request): Promise<Reply> {
  const asset = method === 'GET' ? await docs.asset(path) : undefined
  if (asset !== undefined) return asset
  const shown = `${method} ${path.slice(0, SHOWN_PATH_LENGTH_MAX)}`
  if (route.kind === 'wrong_method') {
    const allow = route.allow.join(', ')
    const error = `${shown} is not possible; this route allows ${allow}`
    return errorReply({ error, code: 'METHOD_NOT_ALLOWED' }, ['Allow', allow])
  }
  const { nearest } = route
  const advice = nearest === undefined ? 'see /api/v1/docs' : `did you mean ${nearest}?`
  return errorReply({ error: `no such route ${shown}; ${advice}`, code: 'NOT_FOUND' })
}

const SHOWN_PATH_LENGTH_MAX = 256
