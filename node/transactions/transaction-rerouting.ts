// Finds the shards of a request again, after a shard refused because it no longer leads or owns a key.
// The sorted request starts another attempt under another id. It must not reuse the old id, because a
// shard that has prepared some keys under that id would take the others for prepared too.

import type { Clock } from '../../lib/clock.ts'
import { isServiceError, ServiceError } from '../../lib/errors.ts'
import { runSliced, StepMeter, type Sliced } from '../../lib/sliced.ts'
import { must } from '../../lib/assert.ts'
import { rangeContains } from '../shard/command/key-range.ts'
import type { Shard } from '../shard/shard.ts'
import type { ShardRouter } from '../shard/shard-router.ts'
import type { ShardId } from '../shard/shard-id.ts'
import { intervalOf, type TransactionPart } from './transaction-part.ts'

/** About a millisecond of sorting. */
const KEYS_PER_STEP = 2000

/** Whether the shard did nothing because another shard or replica has to be asked. */
export function isMoved(error: unknown): error is ServiceError {
  return isServiceError(error) && (error.code === 'NOT_LEADER' || error.code === 'RANGE_MOVED')
}

/**
 * The parts sorted by the shards that own their keys now; undefined if a shard cannot be found at the
 * moment. Throws NOT_FOUND when a table of the request was dropped.
 */
export async function rerouted(
  parts: readonly TransactionPart[],
  { router, clock }: { readonly router: ShardRouter; readonly clock: Clock },
): Promise<readonly TransactionPart[] | undefined> {
  const sorted = new Map<ShardId, TransactionPart>()
  for (const part of parts) {
    const routes = await router.shardsMeeting(await runSliced(intervalOf(part), { clock }))
    if (routes.kind === 'unknown') return undefined
    if (routes.kind === 'gone') {
      const message = `table "${part.table.record.name}" was dropped; create it first`
      throw new ServiceError('NOT_FOUND', message)
    }
    await runSliced(sortInto(sorted, part, routes.shards), { clock })
  }
  return [...sorted.values()]
}

/** One part for each shard, also where several parts have come together in one. */
function* sortInto(
  sorted: Map<ShardId, TransactionPart>,
  part: TransactionPart,
  shards: readonly Shard[],
): Sliced<void> {
  const meter = new StepMeter(KEYS_PER_STEP)
  for (const check of part.checks) {
    partOf(sorted, part, ownerOf(shards, check.key)).checks.push(check)
    if (meter.spend(1)) yield
  }
  for (const op of part.ops) {
    partOf(sorted, part, ownerOf(shards, op.key)).ops.push(op)
    if (meter.spend(1)) yield
  }
}

function ownerOf(shards: readonly Shard[], key: Buffer): Shard {
  return must(
    shards.find(({ range }) => rangeContains(range, key)),
    'the routes of an interval own its keys',
  )
}

function partOf(
  sorted: Map<ShardId, TransactionPart>,
  part: TransactionPart,
  shard: Shard,
): TransactionPart {
  const known = sorted.get(shard.id)
  if (known !== undefined) return known
  const made: TransactionPart = { ...part, shard, checks: [], ops: [] }
  sorted.set(shard.id, made)
  return made
}
