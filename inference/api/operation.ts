// What every handler is given and what it answers.

import type { Clock } from '../../lib/clock.ts'
import type { HeldMemory } from '../../lib/http/request-memory.ts'
import type { BytesReply } from '../../lib/http/reply.ts'
import type { Random } from '../../lib/random.ts'
import type { Contract } from '../../openapi/contract.ts'
import type { InferenceService } from '../service/inference-service.ts'
import type { EventFormat } from './event-stream.ts'
import type { PiecesReply } from './pieces-reply.ts'

export interface ApiContext {
  readonly service: InferenceService
  readonly contract: Contract
}

/** A request whose body fits the contract. */
export interface OperationRequest {
  readonly accept: string | undefined
  /** Of the path, by the names in its template. */
  readonly parameters: Readonly<Record<string, string>>
  /** The body parsed and checked against the contract; undefined if there is none. */
  readonly json: unknown
  /** Aborts when the client goes away, or when the request has taken too long. */
  readonly signal: AbortSignal
  /** Charged with what the request makes the server hold beside its body. */
  readonly memory: HeldMemory
  readonly clock: Clock
  readonly random: Random
}

/** Server-sent events or lines of JSON. What fails before the first is a normal error reply. */
export interface EventsReply {
  readonly kind: 'events'
  readonly format: EventFormat
  /** The data of each event. */
  readonly events: AsyncIterable<string>
}

export type Reply = BytesReply | PiecesReply | EventsReply

/** Contract: asks the service one thing and serialises the answer. Refusals are thrown. */
export type Handler = (request: OperationRequest, context: ApiContext) => Reply | Promise<Reply>

/**
 * The body as the type that its schema in the contract describes. The only place where the two meet
 * unchecked: the validator has refused every body that does not fit the schema.
 */
export function validatedBody<Body>(request: OperationRequest): Partial<Body> {
  return request.json ?? {}
}
