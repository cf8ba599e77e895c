// What one shard needs. `urgencyOf` looks at the shard alone and is cheap; `decide` also searches nodes,
// and is asked when the shard's turn has come.

import type { ShardConfiguration } from '../../../replication/core/configuration.ts'
import { configurationKey } from '../records/cluster-codec.ts'
import type { ClusterView } from '../view/cluster-view.ts'
import { withMinimum } from '../records/configuration-edits.ts'
import {
  elect,
  exclude,
  handOver,
  isAlive,
  needsElection,
  needsExclusion,
  successor,
  whenSeen,
} from './elections.ts'
import { nextOfMove } from './move-steps.ts'
import { place, repair, repairOf } from './repairs.ts'
import type { ShardView } from '../view/shard-view.ts'
import { isStep, type Decision, type Step, type Urgency } from './step.ts'

/** Undefined when nothing has to be done, or when the last change has no outcome yet. */
export function urgencyOf(shard: ShardView, cluster: ClusterView): Urgency | undefined {
  const { configuration, move } = shard
  if (shard.planned !== undefined) return undefined
  if (shard.exists === undefined) return shard.isForgotten ? undefined : 'discard'
  if (configuration === undefined) return move === undefined ? 'place' : 'discard'
  const leadership = leadershipUrgency(shard, configuration, cluster)
  return leadership ?? replicaUrgency(shard, configuration, cluster)
}

/** Asked for a shard with an urgency. The answer may be less urgent than that: things have changed. */
export function decide(shard: ShardView, cluster: ClusterView): Decision | undefined {
  const urgency = urgencyOf(shard, cluster)
  if (urgency === undefined) return undefined
  const { configuration, move } = shard
  if (urgency === 'discard') return discard(shard)
  if (configuration === undefined) return place(shard, cluster)
  if (urgency === 'elect') {
    const isElection = needsElection(shard, configuration, cluster)
    return isElection
      ? elect(shard, configuration, cluster)
      : exclude(shard, configuration, cluster)
  }
  if (urgency === 'hand_over') return leave(shard, configuration, cluster)
  if (urgency === 'policy') return policy(shard, configuration, cluster)
  if (move !== undefined) return nextOfMove({ shard, configuration, move }, cluster)
  const wanted = repairOf({ shard, configuration }, cluster)
  return wanted === undefined ? undefined : repair({ shard, configuration }, wanted, cluster)
}

function leadershipUrgency(
  shard: ShardView,
  configuration: ShardConfiguration,
  cluster: ClusterView,
): Urgency | undefined {
  if (needsElection(shard, configuration, cluster)) return 'elect'
  if (needsExclusion(configuration, cluster)) return 'elect'
  const { leader } = configuration
  if (leader === undefined || cluster.nodes.get(leader.node)?.takesLeaders === true) {
    return undefined
  }
  return successor(shard, configuration, { cluster }) === undefined ? undefined : 'hand_over'
}

function replicaUrgency(
  shard: ShardView,
  configuration: ShardConfiguration,
  cluster: ClusterView,
): Urgency | undefined {
  if (isPolicyDue(shard, configuration, cluster)) return 'policy'
  const { move } = shard
  if (move === undefined) return repairOf({ shard, configuration }, cluster)?.kind
  const next = nextOfMove({ shard, configuration, move }, cluster)
  shard.waits = isStep(next) ? undefined : next.waits
  return isStep(next) ? 'advance' : undefined
}

function leave(
  shard: ShardView,
  configuration: ShardConfiguration,
  cluster: ClusterView,
): Decision {
  const to = successor(shard, configuration, { cluster })
  if (to === undefined) return { waits: 'no other replica that is in sync can lead' }
  const from = cluster.nodes.get(configuration.leader?.node ?? '')
  const why = from?.isPlaceable === true ? 'was asked to hand over' : 'is about to go'
  const reason = `${to.id} leads, because ${from?.id} ${why}`
  return handOver({ shard, configuration, to }, 'hand_over', reason)
}

/**
 * A higher minimum waits until it would not refuse writes. A lower minimum waits for that number of
 * members, too: members that stop being eligible may be the only present ones.
 */
function isPolicyDue(
  shard: ShardView,
  configuration: ShardConfiguration,
  cluster: ClusterView,
): boolean {
  const { minInSync } = cluster.replicationOf(shard)
  if (minInSync === configuration.minInSync) return false
  const present = configuration.inSync.filter((member) => isAlive(member, cluster)).length
  return present >= minInSync
}

function policy(shard: ShardView, configuration: ShardConfiguration, cluster: ClusterView): Step {
  const { minInSync } = cluster.replicationOf(shard)
  return {
    kind: 'policy',
    shard,
    reason: `the table wants ${minInSync} replicas in sync for a write`,
    configuration: withMinimum(configuration, minInSync),
    when: whenSeen(configuration, cluster),
  }
}

/** Keys of a shard that the catalog has not: its table is gone, or the shard was merged away. */
function discard(shard: ShardView): Step {
  const { catalogKey, configuration, move } = shard
  const isGone = shard.exists === undefined
  const when = isGone && catalogKey !== undefined ? [{ key: catalogKey, modRevision: 0 }] : []
  return {
    kind: 'discard',
    shard,
    reason: isGone
      ? `the catalog has no shard ${configurationKey(shard.path)}`
      : 'a move without a shard',
    ...(configuration === undefined ? {} : { configuration: 'delete' }),
    ...(move === undefined ? {} : { move: 'delete' }),
    when,
  }
}
