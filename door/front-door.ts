// Every operation of a contract, through express: routed, allowed, checked, handled.

import type { IncomingMessage } from 'node:http'
import express, { type Express, type Request, type Response } from 'express'
import { must } from '../lib/assert.ts'
import type { Clock } from '../lib/clock.ts'
import { parsedBytesOf } from '../lib/http/json-memory.ts'
import { bodyMissing, readBody } from '../lib/http/request-body.ts'
import { runInTurn, SliceClock } from '../lib/sliced.ts'
import { NodeCall } from './call.ts'
import type { Check, Unchecked } from './checks.ts'
import type { Contract } from './contract.ts'
import type { DocsPage } from './docs-page.ts'
import { Exchange, OperationExchange, type ExchangeOptions } from './exchange.ts'
import { parseJsonInSteps, VALUES_MAX } from './json-parser.ts'
import type { OperationRow, OperationTable } from './operation.ts'
import type { Reply } from './replies.ts'
import { NO_OPERATION, type RequestMetrics } from './request-metrics.ts'
import { decodeParams, RouteTable, type RouteMatch } from './routes.ts'

/** One API: its contract, its handlers, and what its requests share. */
export interface DoorOptions<Context> extends ExchangeOptions {
  readonly contract: Contract
  readonly operations: OperationTable<Context>
  readonly context: Context
  readonly metrics: RequestMetrics
  /** Words the refusals of both ways. */
  readonly check: Check
  readonly docs: DocsPage
  /** By path, why it is not served, for paths of other servers' APIs that people ask for. Absent: none. */
  readonly absent?: ReadonlyMap<string, string>
  bodyBytesMaxOf(this: void, operationId: string): number
  /**
   * Called before a body is read, for operations that have one. Resolves to what is called when the
   * request is over; rejects if there is no place for it.
   */
  readonly takePlace: ((signal: AbortSignal) => Promise<() => void>) | undefined
}

type Found = Extract<RouteMatch, { kind: 'found' }>
type Unrouted = Exclude<RouteMatch, Found>

/** Reads the body of a request that was admitted, has it checked, and answers what its handler does. */
export type Perform<Context> = (
  exchange: OperationExchange,
  of: { readonly row: OperationRow<Context>; readonly request: IncomingMessage },
  check: (json: unknown) => Promise<void> | undefined,
) => Promise<Reply>

export function buildApp<Context>(options: DoorOptions<Context>): Express {
  const frontDoor = new FrontDoor(options)
  const app = express()
  app.disable('x-powered-by')
  app.use((request, response) => frontDoor.answer(request, response))
  return app
}

class FrontDoor<Context> {
  readonly #options: DoorOptions<Context>
  readonly #routes: RouteTable
  readonly #check: Check
  readonly #perform: Perform<Context>

  constructor(options: DoorOptions<Context>) {
    const { contract, docs } = options
    this.#options = options
    this.#routes = new RouteTable(contract.operations, docs.prefix)
    this.#check = options.check
    this.#perform = buildPerform(options)
  }

  answer(request: Request, response: Response): void {
    // node:http has noted already that an answer to HEAD has no body; from here on it is a GET.
    if (request.method === 'HEAD') request.method = 'GET'
    const route = this.#routes.match(request.method, request.path)
    if (route.kind === 'found') return this.#answerOperation(route, request, response)
    const metrics = this.#options.metrics.of(NO_OPERATION)
    const exchange = new Exchange({ call: new NodeCall(request, response), metrics }, this.#options)
    exchange.answer(() => this.#answerUnrouted(route, request))
  }

  #answerOperation({ operation, rawParams }: Found, request: Request, response: Response): void {
    const { operationId } = operation
    const metrics = this.#options.metrics.of(operationId)
    const of = { call: new NodeCall(request, response), metrics, operation }
    const exchange = new OperationExchange(of, this.#options)
    exchange.answer(() => {
      exchange.params = decodeParams(rawParams)
      exchange.admit()
      const row = must(this.#options.operations[operationId], `row of ${operationId}`)
      return this.#perform(exchange, { row, request }, async (json) => {
        await this.#checkInTurn({ request, response, json })
        // The check has made numbers of what the contract calls numbers.
        exchange.query = request.query
      })
    })
  }

  /** Checks take turns of the thread, because the first check of a large text also joins its parts. */
  async #checkInTurn(unchecked: Unchecked): Promise<void> {
    const slice = new SliceClock(this.#options.clock)
    await this.#check(unchecked)
    if (slice.isOver) await slice.turn()
  }

  async #answerUnrouted(route: Unrouted, { method, path }: Request): Promise<Reply> {
    const { docs, errors, absent } = this.#options
    const asset = method === 'GET' ? await docs.asset(path) : undefined
    if (asset !== undefined) return asset
    const shown = `${method} ${path.slice(0, SHOWN_PATH_LENGTH_MAX)}`
    if (route.kind === 'wrong_method') {
      const allow = route.allow.join(', ')
      const error = `${shown} is not possible; this route allows ${allow}`
      return errors.of(path, { error, code: 'METHOD_NOT_ALLOWED' }, ['Allow', allow])
    }
    const { nearest } = route
    const guess = nearest === undefined ? `see ${docs.route}` : `did you mean ${nearest}?`
    const advice = absent?.get(path.replace(/\/+$/, '')) ?? guess
    return errors.of(path, { error: `no such route ${shown}; ${advice}`, code: 'NOT_FOUND' })
  }
}

const SHOWN_PATH_LENGTH_MAX = 256

/** What follows when a request is admitted, the same on both ways. */
export function buildPerform<Context>(options: DoorOptions<Context>): Perform<Context> {
  const { context, clock, takePlace, bodyBytesMaxOf } = options
  return async (exchange, { row, request }, check) => {
    const { operation } = exchange
    if (operation.body !== 'none') {
      // The place is taken before the body is read, so that bodies that wait are not in memory.
      if (takePlace !== undefined) exchange.whenOver(await takePlace(exchange.signal))
      const { memory } = exchange
      const bytesMax = bodyBytesMaxOf(operation.operationId)
      exchange.body = await readBody(request, {
        bytesMax,
        allowsLines: row.body === 'lines',
        memory,
      })
      if (exchange.body.length === 0 && operation.body === 'required') throw bodyMissing()
      exchange.resume()
      if (row.body === 'json') await parseBody(exchange, clock)
    }
    const checking = check(exchange.json)
    if (checking !== undefined) await checking
    return row.handle(exchange, context)
  }
}

async function parseBody(exchange: OperationExchange, clock: Clock): Promise<void> {
  const { body, memory, signal } = exchange
  if (body.length === 0) return
  const measured = runInTurn(parsedBytesOf(body, VALUES_MAX), { clock, signal })
  memory.add(measured instanceof Promise ? await measured : measured)
  exchange.json = await runInTurn(parseJsonInSteps(body), { clock, signal })
}
