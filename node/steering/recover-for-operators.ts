// A recovery of the control plane as the HTTP API answers it.

import type { Clock } from '../../lib/clock.ts'
import { isServiceError } from '../../lib/errors.ts'
import {
  findLastRecovery,
  recoverCluster,
  type RecoveredShard,
} from '../cluster/recovery/control-plane-recovery.ts'
import { OvertakenError } from '../cluster/recovery/recovery-turn.ts'
import type { ShardPath } from '../controller/core/records/cluster-codec.ts'
import type { Coordination } from '../coordination/coordination.ts'
import type { RecoveredShardAnswer, RecoveryAnswer } from './cluster-answers.ts'
import { CONTROLLER_CATALOG } from './controller-catalog.ts'

/** One that was overtaken waits for this time until the other, which commits once for each shard, has ended. */
const OTHER_MS = 5000
const POLL_MS = 100
/** An answer names 10,000 shards at most, and counts all. */
const NAMED_MAX = 10_000

/**
 * Recovers the control plane if a node refuses it, as `recoverCluster` does. So asking again after a recovery, also
 * after one by somebody else at the same time, changes nothing. One that another has overtaken waits for the end of
 * that one, and rejects with OvertakenError if it does not end within OTHER_MS.
 */
export async function recoverForOperators(
  coordination: Coordination,
  { without, clock }: { readonly without: readonly string[]; readonly clock: Clock },
): Promise<RecoveryAnswer> {
  const before = await findLastRecovery(coordination)
  if (!before.isRefused) return nothingDone(before.number)
  const { shardPrefix } = CONTROLLER_CATALOG
  try {
    return showRecovery(await recoverCluster({ coordination, shardPrefix, without }))
  } catch (error) {
    if (!isServiceError(error) || error.code !== 'CONFLICT') throw error
    const waits = error instanceof OvertakenError ? OTHER_MS / POLL_MS : 0
    for (let polls = 0; ; polls++) {
      const { number, isRefused } = await findLastRecovery(coordination)
      // Only the end of a recovery ends a refusal. It may have been seen in `before.number` already.
      if (!isRefused) return nothingDone(number)
      if (polls >= waits) throw error
      await clock.sleep(POLL_MS)
    }
  }
}

/** A recovery that was made. */
export function showRecovery({
  number,
  reported,
  shards,
  unknown,
}: Awaited<ReturnType<typeof recoverCluster>>): RecoveryAnswer {
  return {
    performed: true,
    recovery: number,
    reported,
    shard_count: shards.length,
    shards: shards.slice(0, NAMED_MAX).map(shardOf),
    unknown_count: unknown.length,
    unknown: unknown.slice(0, NAMED_MAX).map(namesIn),
  }
}

function nothingDone(recovery: number): RecoveryAnswer {
  const nothing = { reported: [], shard_count: 0, shards: [], unknown_count: 0, unknown: [] }
  return { performed: false, recovery, ...nothing }
}

function shardOf({ path, epoch, from, replicas, inSync }: RecoveredShard): RecoveredShardAnswer {
  const source = from === undefined ? {} : { from }
  return { ...namesIn(path), epoch, ...source, replicas, in_sync: inSync }
}

function namesIn(path: ShardPath): { readonly table_id: string; readonly shard: string } {
  const [table = '', shard = ''] = path.split('/')
  return { table_id: table, shard }
}
