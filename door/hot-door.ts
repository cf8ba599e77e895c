// The short way for the busiest operations, ahead of express.
//
// Invariants:
//   D1  The hot door declines a request that a quick look cannot accept (a query, an odd escape, a name
//       that the contract refuses, a header that the operation knows), and express answers it. A JSON
//       body that does not fit goes to the check that express uses. So each refusal has one wording.
//   D2  Both ways answer alike; test/contract/both-doors.test.ts compares them, driven by the contract.

import type { IncomingMessage, ServerResponse } from 'node:http'
import { must } from '../lib/assert.ts'
import { SchemaChecks, type Fits } from './checks.ts'
import type { Operation } from './contract.ts'
import { NodeCall } from './call.ts'
import { OperationExchange } from './exchange.ts'
import { buildPerform, type DoorOptions, type Perform } from './front-door.ts'
import type { OperationRow } from './operation.ts'
import { paramsOf, patternOf, type PathPattern } from './path-pattern.ts'
import type { OperationMetrics } from './request-metrics.ts'

/** True if the request was taken; otherwise nothing was done to it. */
export type HotDoor = (request: IncomingMessage, response: ServerResponse) => boolean

/** Rejects with the refusal of a JSON body that does not fit the contract. */
export type Judge = (call: NodeCall, json: unknown) => Promise<void>

interface HotRoute<Context> {
  readonly operation: Operation
  readonly row: OperationRow<Context>
  readonly metrics: OperationMetrics
  readonly path: PathPattern
  /** The check of the JSON body. Undefined without a body, and if the handler parses it itself. */
  readonly fits: Fits | undefined
  /** Headers that the contract has rules for, in small letters. */
  readonly headers: readonly string[]
}

/**
 * Contract: takes a request only if its path, query and headers fit. `judge` is given what turned out
 * not to fit later, and rejects.
 */
export function buildHotDoor<Context>(options: DoorOptions<Context>, judge: Judge): HotDoor {
  const routes = routesOf(options)
  const perform = buildPerform(options)
  return (request, response) => {
    const { method, url = '' } = request
    for (const route of routes) {
      if (route.operation.method !== method) continue
      const params = paramsOf(route.path, url)
      if (params === undefined) continue
      if (route.headers.some((name) => request.headers[name] !== undefined)) return false
      const { operation, metrics } = route
      const call = new NodeCall(request, response)
      const exchange = new OperationExchange({ call, metrics, operation }, options)
      exchange.params = params
      begin(exchange, { route, perform, judge, call, context: options.context })
      return true
    }
    return false
  }
}

interface Beginning<Context> {
  readonly route: HotRoute<Context>
  readonly perform: Perform<Context>
  readonly judge: Judge
  readonly call: NodeCall
  readonly context: Context
}

function begin<Context>(
  exchange: OperationExchange,
  { route: { operation, row, fits }, perform, judge, call, context }: Beginning<Context>,
): void {
  exchange.answer(() => {
    exchange.admit()
    // No await here: a document in memory is answered in the same turn of the event loop.
    if (operation.body === 'none') return row.handle(exchange, context)
    return perform(exchange, { row, request: call.request }, (json) =>
      fits === undefined || fits(json) ? undefined : judge(call, json),
    )
  })
}

function routesOf<Context>(options: DoorOptions<Context>): readonly HotRoute<Context>[] {
  const { contract, operations, metrics } = options
  const checks = new SchemaChecks(contract)
  const hot = contract.operations.filter(
    ({ operationId }) => (operations[operationId]?.way ?? 'express') !== 'express',
  )
  return hot.map((operation) => {
    const { operationId, template, parameters, body } = operation
    const row = must(operations[operationId], `row of ${operationId}`)
    return {
      operation,
      row,
      metrics: metrics.of(operationId),
      path: patternOf(template, checks.params(operation)),
      fits: body !== 'none' && row.body === 'json' ? checks.body(operation) : undefined,
      headers: parameters.flatMap((each) => (each.in === 'header' ? each.name.toLowerCase() : [])),
    }
  })
}
