// What every handler is given and what it answers.

import { createHash } from 'node:crypto'
import { must } from '../../lib/assert.ts'
import type { Clock } from '../../lib/clock.ts'
import { runInTurn, type Sliced } from '../../lib/sliced.ts'
import type { StoreService, WriteOptions } from '../coordinator/store-service.ts'
import type { SyncLevel } from '../document/writes.ts'
import type { Contract } from '../../openapi/contract.ts'
import type { Reply } from '../../lib/http/reply.ts'
import type { HeldMemory } from '../../lib/http/request-memory.ts'

export interface ApiContext {
  readonly service: StoreService
  readonly contract: Contract
  readonly clock: Clock
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
  /** Aborts with CANCELLED when the client goes away before its answer. */
  readonly signal: AbortSignal
  /** Charged with the bytes that the request keeps until it is answered. */
  readonly memory: HeldMemory
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

/** Documents, keys and operations of transforms in one request; a merge has a limit of its own. */
export const OPERATIONS_MAX = 100_000

/** Runs the parser of a body: at once when it is short, in slices when it is long. */
export function parsed<Body>(
  { signal }: OperationRequest,
  { clock }: ApiContext,
  work: Sliced<Body>,
): Body | Promise<Body> {
  return runInTurn(work, { clock, signal })
}

export function writeOptionsOf(
  request: OperationRequest,
  context: ApiContext,
  syncLevel: SyncLevel,
): WriteOptions | Promise<WriteOptions> {
  const { idempotencyKey: key, signal } = request
  if (key === undefined) return { syncLevel, signal }
  return withIdempotency(request, context, { syncLevel, signal, key })
}

async function withIdempotency(
  request: OperationRequest,
  context: ApiContext,
  { key, ...options }: WriteOptions & { readonly key: string },
): Promise<WriteOptions> {
  const digest = await parsed(request, context, digestOf(request))
  return { ...options, idempotency: { key, digest } }
}

const DIGESTED_PER_STEP = 512 * 1024

/** Equal for two requests exactly if they ask for the same. */
function* digestOf({ operationId, params, body }: OperationRequest): Sliced<string> {
  const hash = createHash('sha256')
  hash.update(JSON.stringify([operationId, params['tableName'] ?? '']))
  for (let at = 0; at < body.length; at += DIGESTED_PER_STEP) {
    if (at > 0) yield
    hash.update(body.subarray(at, at + DIGESTED_PER_STEP))
  }
  return hash.digest('hex')
}
