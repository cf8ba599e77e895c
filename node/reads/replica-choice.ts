// Which replica of a shard is asked: the nearest that answers, and one that is not too old if any is.

import { isServiceError, ServiceError, type ErrorCode } from '../../lib/errors.ts'
import type { Timestamp } from '../clock/hybrid-clock.ts'
import type { ShardId } from '../shard/shard-id.ts'
import type { ShardReplica } from '../shard/shard-replica.ts'

/** The replicas of a shard, the nearest first: of this node, then of its zone, then the others. */
export type FindReplicas = (id: ShardId) => readonly ShardReplica[]

/** The request itself is refused: no other replica would answer it. */
const FINAL: ReadonlySet<ErrorCode> = new Set<ErrorCode>(['INVALID_ARGUMENT', 'CANCELLED'])

/** Throws what ends the request; otherwise another replica may be asked. */
export function throwIfFinal(error: unknown, signal: AbortSignal | undefined): void {
  signal?.throwIfAborted()
  if (!isServiceError(error) || FINAL.has(error.code)) throw error
}

/** Asks one replica after the other until one answers. Rejects with the refusal of the last one. */
export async function firstAnswer<Answer>(
  replicas: readonly ShardReplica[],
  ask: (replica: ShardReplica) => Promise<Answer>,
  signal: AbortSignal | undefined,
): Promise<Answer> {
  let refusal: unknown = noReplica()
  for (const replica of replicas) {
    try {
      return await ask(replica)
    } catch (error) {
      throwIfFinal(error, signal)
      refusal = error
    }
  }
  throw refusal
}

/** What a replica shows, and of which time. */
interface Dated {
  readonly at: Timestamp
}

/** How `freshEnough` chooses. */
export interface Freshness {
  /** An answer of this time or a later one is taken at once. */
  readonly since: Timestamp
  readonly signal: AbortSignal | undefined
}

/**
 * The first answer that is not older than `since`. If all are, the newest one: a replica that is cut off does
 * not hide the others.
 */
export async function freshEnough<Answer extends Dated>(
  replicas: readonly ShardReplica[],
  ask: (replica: ShardReplica) => Promise<Answer>,
  { since, signal }: Freshness,
): Promise<Answer> {
  let newest: Answer | undefined
  let refusal: unknown = noReplica()
  for (const replica of replicas) {
    try {
      const answer = await ask(replica)
      if (answer.at >= since) return answer
      if (newest === undefined || answer.at > newest.at) newest = answer
    } catch (error) {
      throwIfFinal(error, signal)
      refusal = error
    }
  }
  if (newest === undefined) throw refusal
  return newest
}

function noReplica(): ServiceError {
  return new ServiceError('UNAVAILABLE', 'no replica of the shard is known; see the cluster status')
}
