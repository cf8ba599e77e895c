import type { Clock } from '../../lib/clock.ts'
import { messageOf } from '../../lib/errors.ts'
import { SliceClock } from '../../lib/sliced.ts'
import type { Shard, ShardCondition } from '../shard/shard.ts'
import type { ShardId } from '../shard/shard-id.ts'
import type { OpenTable } from '../catalog/tables/open-table.ts'

/** A request for the status waits no longer than this for a shard that does not answer. */
const CONDITION_WAIT_MAX_MS = 1000

/** The condition of every shard of the tables, by its id. */
export type ShardConditions = ReadonlyMap<ShardId, ShardCondition>

/** Asks all shards. A shard that does not answer within CONDITION_WAIT_MAX_MS counts as failed. */
export async function conditionsOf(
  tables: readonly OpenTable[],
  clock: Clock,
): Promise<ShardConditions> {
  const conditions = new Map<ShardId, ShardCondition>()
  const over = new AbortController()
  const asked = new AbortController()
  const late = clock.sleep(CONDITION_WAIT_MAX_MS, over.signal).then(
    () => asked.abort(new Error('it does not answer')),
    () => undefined, // everybody has answered
  )
  const slice = new SliceClock(clock)
  for (const { shards } of tables) {
    const answers = await Promise.all(shards.map((shard) => conditionOf(shard, asked.signal)))
    for (const [i, shard] of shards.entries()) {
      const answer = answers[i]
      if (answer !== undefined) conditions.set(shard.id, answer)
    }
    if (slice.isOver) await slice.turn()
  }
  over.abort()
  await late
  return conditions
}

async function conditionOf(shard: Shard, signal: AbortSignal): Promise<ShardCondition> {
  try {
    return await shard.state({ signal })
  } catch (error) {
    return { kind: 'failed', reason: messageOf(error) }
  }
}
