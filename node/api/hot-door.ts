// The short way for the busiest operations, ahead of express: one document's lookup, one table's
// batch, and queries of one table.
//
// Invariants:
//   D1  What this door cannot vouch for at a glance (a query, an odd path, an odd name) it declines,
//       and the front door answers. So only requests that fit the contract are answered here.
//   D2  Both doors answer alike; test/contract/both-doors.test.ts compares them.

import type { IncomingMessage, ServerResponse } from 'node:http'
import type { StoredDocument } from '../coordinator/store-service.ts'
import { parseDocumentKey } from '../document/document-limits.ts'
import type { AppOptions } from './app.ts'
import { bodyBytesMaxOf } from './body-limits.ts'
import { errorReply } from './error-status.ts'
import { answer } from './exchange.ts'
import type { RequestScope } from './exchange.ts'
import { batchWrite } from './handlers/batch-write.ts'
import { documentFound, documentMissing } from './handlers/lookup-document.ts'
import type { OperationMetrics } from './metrics.ts'
import { queryTable } from './handlers/query-table.ts'
import type { Handler } from './operation.ts'
import { isLarge } from '../../lib/http/held-reply.ts'
import { sendBytes } from '../../lib/http/reply.ts'
import type { BytesReply, Reply } from '../../lib/http/reply.ts'
import { bodyMissing, readBody } from '../../lib/http/request-body.ts'
import { requestIdOf } from '../../lib/http/request-id.ts'
import { isAscii } from './route-table.ts'
import { isTableName } from './table-name.ts'

const TABLES = '/api/v1/tables/'
const LOOKUP = '/lookup/'
const BATCH = '/batch'
const QUERY = '/query'
const NO_QUERY = Object.freeze({})

/** True if the request was taken; otherwise nothing was done to it. */
export type HotDoor = (request: IncomingMessage, response: ServerResponse) => boolean

export function buildHotDoor(options: AppOptions): HotDoor {
  const door = new Door(options)
  return (request, response) => {
    const { method, url = '' } = request
    if (!url.startsWith(TABLES)) return false
    const tableEnd = url.indexOf('/', TABLES.length)
    if (tableEnd === -1) return false
    const table = url.slice(TABLES.length, tableEnd)
    if (!isTableName(table)) return false
    if (method === 'GET') return door.lookup(table, url.slice(tableEnd), response)
    if (method !== 'POST') return false
    const rest = url.slice(tableEnd)
    if (rest === BATCH) return door.batch(table, request, response)
    if (rest === QUERY) return door.query(table, request, response)
    return false
  }
}

class Door {
  readonly #options: AppOptions
  readonly #lookupMetrics: OperationMetrics
  readonly #batchMetrics: OperationMetrics
  readonly #queryMetrics: OperationMetrics

  constructor(options: AppOptions) {
    this.#options = options
    this.#lookupMetrics = options.metrics.of('lookupDocument')
    this.#batchMetrics = options.metrics.of('batchWrite')
    this.#queryMetrics = options.metrics.of('queryTable')
  }

  lookup(table: string, rest: string, response: ServerResponse): boolean {
    const keyText = parseLookupKey(rest)
    if (keyText === undefined) return false
    const { clock, loop, translator, onAnswered } = this.#options
    const { operation } = this.#lookupMetrics
    const startMs = clock.monotonicMs()
    loop.enter(this.#lookupMetrics.number)
    const finish = (reply: BytesReply): void => {
      loop.leave()
      if (isLarge(reply)) return void this.#sendLarge(response, reply, startMs)
      sendBytes(response, reply)
      const { status } = reply
      const elapsedMs = clock.monotonicMs() - startMs
      this.#lookupMetrics.record(status, elapsedMs)
      onAnswered?.({ response, operation, status, elapsedMs })
    }
    const fail = (error: unknown): void => {
      const failed = { requestId: requestIdOf(response), operation }
      finish(errorReply(translator.bodyOf(error, failed)))
    }
    const deliver = (found: StoredDocument | undefined): void =>
      finish(found === undefined ? documentMissing(table, keyText) : documentFound(found))
    try {
      const found = this.#options.context.service.lookup(table, parseDocumentKey(keyText))
      if (found instanceof Promise) found.then(deliver).catch(fail)
      else deliver(found)
    } catch (error) {
      fail(error)
    }
    return true
  }

  /** As the front door does. */
  #sendLarge(response: ServerResponse, reply: BytesReply, startMs: number): Promise<void> {
    const metrics = this.#lookupMetrics
    return answer({ response, metrics, startMs }, this.#options, async () => reply)
  }

  batch(table: string, request: IncomingMessage, response: ServerResponse): boolean {
    // The front door knows the rules of this header, and a write that carries it is not in a hurry.
    if (request.headers['idempotency-key'] !== undefined) return false
    const metrics = this.#batchMetrics
    void answer({ response, metrics }, this.#options, (scope) =>
      this.#perform(request, {
        operationId: 'batchWrite',
        handler: batchWrite,
        table,
        scope,
        metrics,
      }),
    )
    return true
  }

  query(table: string, request: IncomingMessage, response: ServerResponse): boolean {
    const metrics = this.#queryMetrics
    void answer({ response, metrics }, this.#options, (scope) =>
      this.#perform(request, {
        operationId: 'queryTable',
        handler: queryTable,
        table,
        scope,
        metrics,
      }),
    )
    return true
  }

  async #perform(
    request: IncomingMessage,
    { operationId, handler, table, metrics, scope: { signal, memory } }: TableOperation,
  ): Promise<Reply> {
    const { context, bodyBytesMax, loop } = this.#options
    const allowsLines = operationId === 'queryTable'
    const bytesMax = bodyBytesMaxOf(operationId, bodyBytesMax)
    const body = await readBody(request, { bytesMax, allowsLines, memory })
    if (body.length === 0) throw bodyMissing()
    loop.resume(metrics.number)
    const params = { tableName: table }
    return handler(
      {
        operationId,
        params,
        query: NO_QUERY,
        idempotencyKey: undefined,
        body,
        json: undefined,
        signal,
        memory,
      },
      context,
    )
  }
}

interface TableOperation {
  readonly operationId: 'batchWrite' | 'queryTable'
  readonly handler: Handler
  readonly table: string
  readonly scope: RequestScope
  readonly metrics: OperationMetrics
}

/** The key of `/lookup/{key}`; undefined for everything that is not exactly that. */
function parseLookupKey(rest: string): string | undefined {
  if (!rest.startsWith(LOOKUP) || rest.length === LOOKUP.length) return undefined
  const encoded = rest.slice(LOOKUP.length)
  if (encoded.includes('?') || encoded.includes('/') || encoded.includes('#')) return undefined
  if (!encoded.includes('%')) return isAscii(encoded) ? encoded : undefined
  if (!isAscii(encoded)) return undefined
  try {
    return decodeURIComponent(encoded)
  } catch {
    return undefined
  }
}
