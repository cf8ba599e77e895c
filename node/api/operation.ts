// The context of a handler, and readers of the parts that requests share.

import { createHash } from 'node:crypto'
import { must } from '../../lib/assert.ts'
import type { Clock } from '../../lib/clock.ts'
import { runInTurn, type Sliced } from '../../lib/sliced.ts'
import type { Contract } from '../../door/contract.ts'
import type { DocsPage } from '../../door/docs-page.ts'
import { validatedBody } from '../../door/operation.ts'
import type { Handler as DoorHandler, OperationRequest } from '../../door/operation.ts'
import type { Principal } from '../../door/principal.ts'
import type { ClusterService } from '../steering/cluster-service.ts'
import type { NodeSettings } from '../steering/node-settings.ts'
import type { StoreService } from '../store/store-service.ts'
import type { WriteOptions } from '../transactions/write-options.ts'
import type { BodyLimits } from '../document/body-reader.ts'
import type { SyncLevel } from '../document/writes.ts'

/**
 * What every handler gets beside its request. It is the same object for all requests of a server.
 */
export interface ApiContext {
  readonly service: StoreService
  readonly cluster: ClusterService
  readonly settings: NodeSettings
  readonly contract: Contract
  readonly docs: DocsPage
  readonly clock: Clock
}

export type Handler = DoorHandler<ApiContext>

export function tableOf({ params }: OperationRequest): string {
  return must(params['tableName'], 'tableName in the path template')
}

export function indexOf({ params }: OperationRequest): string {
  return must(params['indexName'], 'indexName in the path template')
}

export function nodeOf({ params }: OperationRequest): string {
  return must(params['nodeId'], 'nodeId in the path template')
}

/** The operation of which a request is a part, if its body names one. */
export function operationIdOf(request: OperationRequest): string | undefined {
  return validatedBody<{ readonly operation_id?: string }>(request).operation_id
}

export function shardOf({ params }: OperationRequest): string {
  return must(params['shardId'], 'shardId in the path template')
}

/** Documents, keys and operations of transforms in one request; a merge has a limit of its own. */
const OPERATIONS_MAX = 100_000

/** What a body of writes may hold; what becomes of it is charged to its request. */
export function limitsOf({ memory }: OperationRequest): BodyLimits {
  return { operationsMax: OPERATIONS_MAX, charge: (bytes) => memory.addOrEnd(bytes) }
}

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
  const { signal, headers } = request
  const key = headers['idempotency-key']
  if (typeof key !== 'string') return { syncLevel, signal }
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

/** What tells callers apart in digests: an answer is repeated only to the caller that it was for. */
const CALLERS: Readonly<Record<Principal['kind'], (principal: Principal) => string>> = {
  anonymous: () => '', // all anonymous callers count as one
}

/** Equal for two requests exactly if the same caller asks for the same. */
function* digestOf({
  operation: { operationId },
  principal,
  params,
  body,
}: OperationRequest): Sliced<string> {
  const hash = createHash('sha256')
  hash.update(CALLERS[principal.kind](principal))
  hash.update(JSON.stringify([operationId, params['tableName'] ?? '']))
  for (let at = 0; at < body.length; at += DIGESTED_PER_STEP) {
    if (at > 0) yield
    hash.update(body.subarray(at, at + DIGESTED_PER_STEP))
  }
  return hash.digest('hex')
}
