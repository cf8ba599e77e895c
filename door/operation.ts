// The types of a handler, its request and its reply.

import type { IncomingHttpHeaders } from 'node:http'
import type { HeldMemory } from '../lib/http/request-memory.ts'
import type { Operation } from './contract.ts'
import type { Principal } from './principal.ts'
import type { Reply } from './replies.ts'

/** A request that fits the contract and that its principal may send. */
export interface OperationRequest {
  readonly operation: Operation
  readonly principal: Principal
  /** The parameters of the path by the names in its template, decoded. */
  readonly params: Readonly<Record<string, string>>
  readonly query: Readonly<Record<string, unknown>>
  readonly headers: IncomingHttpHeaders
  /** The body's bytes, decompressed; empty if there is none. */
  readonly body: Buffer
  /** The body parsed and checked against the contract; undefined if there is none, or if the handler reads the bytes. */
  readonly json: unknown
  /** Aborts when the client goes away (CANCELLED) or the request has taken too long (DEADLINE_EXCEEDED). */
  readonly signal: AbortSignal
  /** Charged with the bytes that the request keeps until it is answered. */
  readonly memory: HeldMemory
}

/** Contract: asks the service one thing and serialises the answer. Refusals are thrown. */
export type Handler<Context> = (
  request: OperationRequest,
  context: Context,
) => Reply | Promise<Reply>

/** How one operation is answered. */
export interface OperationRow<Context> {
  readonly handle: Handler<Context>
  /**
   * `bytes`: the handler's parser walks the bytes of the body, checks all that the contract says about
   * them, and keeps every digit. test/contract/body-parsers.test.ts holds these parsers to the contract.
   * `lines`: the same, and the body may be NDJSON as well.
   */
  readonly body: 'json' | 'bytes' | 'lines'
  /**
   * `hot`: its requests take the hot door, ahead of express. `plain`: so they do, and those that node:http need not read
   * take the plain door; then the body is none or `bytes`, and no answer is streamed.
   */
  readonly way: 'express' | 'hot' | 'plain'
}

/** By operationId. */
export type OperationTable<Context> = Readonly<Record<string, OperationRow<Context>>>

/**
 * The body as the type that its schema in the contract describes. The only place where the two meet
 * unchecked: the validator has refused every body that does not fit the schema.
 */
export function validatedBody<Body>({ json }: Pick<OperationRequest, 'json'>): Partial<Body> {
  return json ?? {}
}

export function textParameter(
  query: Readonly<Record<string, unknown>>,
  name: string,
): string | undefined {
  const value = query[name]
  return typeof value === 'string' ? value : undefined
}
