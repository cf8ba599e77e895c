// What every handler is given and what it answers.

import { createHash } from 'node:crypto'
import { must } from '../../lib/assert.ts'
import type { StoreService, WriteOptions } from '../coordinator/store-service.ts'
import type { SyncLevel } from '../document/writes.ts'
import type { Contract } from '../../openapi/contract.ts'
import type { Reply } from '../../lib/http/reply.ts'

export interface ApiContext {
  readonly service: StoreService
  readonly contract: Contract
}

/** A request whose path, query and headers fit the contract. */
export interface OperationRequest {
  readonly operationId: string
  readonly params: Readonly<Record<string, string>>
  readonly query: Readonly<Record<string, unknown>>
  readonly idempotencyKey: string | undefined
  /** The body's bytes, decompressed; empty if there is none. */
  readonly body: Buffer
  /** The body parsed and checked against the contract; undefined if there is none. */
  readonly json: unknown
  /** Aborts when the client goes away before its answer. */
  readonly signal: AbortSignal
}

/** Contract: asks the service one thing and serialises the answer. Refusals are thrown. */
export type Handler = (request: OperationRequest, context: ApiContext) => Reply | Promise<Reply>

/**
 * The body as the type that its schema in the contract describes. The only place where the two meet
 * unchecked: the validator has refused every body that does not fit the schema.
 */
export function validatedBody<Body>(request: OperationRequest): Partial<Body> {
  return request.json ?? {}
}

export function tableOf({ params }: OperationRequest): string {
  return must(params['tableName'], 'tableName in the path template')
}

export function indexOf({ params }: OperationRequest): string {
  return must(params['indexName'], 'indexName in the path template')
}

export function textParameter(
  query: Readonly<Record<string, unknown>>,
  name: string,
): string | undefined {
  const value = query[name]
  return typeof value === 'string' ? value : undefined
}

export function writeOptionsOf(request: OperationRequest, syncLevel: SyncLevel): WriteOptions {
  const { idempotencyKey: key, signal } = request
  if (key === undefined) return { syncLevel, signal }
  return { syncLevel, signal, idempotency: { key, digest: digestOf(request) } }
}

/** Equal for two requests exactly if they ask for the same. */
function digestOf({ operationId, params, body }: OperationRequest): string {
  const hash = createHash('sha256')
  hash.update(JSON.stringify([operationId, params['tableName'] ?? '']))
  return hash.update(body).digest('hex')
}
