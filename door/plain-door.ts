// The shortest way, for requests that node:http does not read (lib/http/plain-request.ts): of operations whose answers are
// whole bytes, from no other origin, and with a body that is UTF-8 and within the limit.
//
// Invariants:
//   PL1  What the plain door declines, node:http reads anew, and the hot door or express answers: so each refusal of a
//        request's form has one wording. test/contract/both-doors.test.ts compares the answers of all ways.
//   PL2  No await before the handler: a document in memory is answered in the turn in which its request came.

import { isUtf8 } from 'node:buffer'
import { must } from '../lib/assert.ts'
import type { ServePlain } from '../lib/http/plain-connections.ts'
import type { PlainRequest } from '../lib/http/plain-request.ts'
import type { RequestIds } from '../lib/http/request-id.ts'
import { PlainCall } from './call.ts'
import { SchemaChecks } from './checks.ts'
import type { Operation } from './contract.ts'
import { OperationExchange } from './exchange.ts'
import type { DoorOptions } from './front-door.ts'
import type { OperationRow } from './operation.ts'
import type { OriginPolicy } from './origins.ts'
import { paramsOf, patternOf, type PathPattern } from './path-pattern.ts'
import type { OperationMetrics } from './request-metrics.ts'

/** What every request passes before it reaches an operation. */
export interface PlainEntry {
  readonly ids: RequestIds
  readonly origins: OriginPolicy
}

interface PlainRoute<Context> {
  readonly operation: Operation
  readonly row: OperationRow<Context>
  readonly metrics: OperationMetrics
  readonly path: PathPattern
  /** 0 for an operation without a body. */
  readonly bodyBytesMax: number
}

/** Undefined if requests wait for a place before their bodies are read, which nobody can tell a plain one. */
export function buildPlainDoor<Context>(
  options: DoorOptions<Context>,
  { ids, origins }: PlainEntry,
): ServePlain | undefined {
  if (options.takePlace !== undefined) return undefined
  const routes = routesOf(options)
  return (request, connection) => {
    const { method, target, rawHeaders, body } = request
    for (const route of routes) {
      const { operation, row, metrics } = route
      if (operation.method !== method) continue
      const params = paramsOf(route.path, target)
      if (params === undefined) continue
      if (!isTextWithin(request, route.bodyBytesMax)) return false
      const { refusal, crossOrigin, headers } = origins(rawHeaders, target)
      if (refusal !== undefined || crossOrigin !== undefined || headers.length > 0) return false
      const call = new PlainCall(request, connection, ids.of(rawHeaders))
      const exchange = new OperationExchange({ call, metrics, operation }, options)
      exchange.params = params
      exchange.body = body
      exchange.answer(() => {
        exchange.admit()
        if (body.length > 0) exchange.memory.add(body.length)
        return row.handle(exchange, options.context)
      })
      return true
    }
    return false
  }
}

const BYTE_ORDER_MARK_BEGIN = 0xef

/** A body that cannot be served has its refusal in lib/http/request-body.ts. */
function isTextWithin({ body }: PlainRequest, bytesMax: number): boolean {
  if (bytesMax === 0) return body.length === 0
  const isWithin = body.length > 0 && body.length <= bytesMax
  return isWithin && body[0] !== BYTE_ORDER_MARK_BEGIN && isUtf8(body)
}

function routesOf<Context>(options: DoorOptions<Context>): readonly PlainRoute<Context>[] {
  const { contract, operations, metrics, bodyBytesMaxOf } = options
  const checks = new SchemaChecks(contract)
  const plain = contract.operations.filter(
    ({ operationId }) => operations[operationId]?.way === 'plain',
  )
  return plain.map((operation) => {
    const { operationId, template } = operation
    return {
      operation,
      row: must(operations[operationId], `row of ${operationId}`),
      metrics: metrics.of(operationId),
      path: patternOf(template, checks.params(operation)),
      bodyBytesMax: operation.body === 'none' ? 0 : bodyBytesMaxOf(operationId),
    }
  })
}
