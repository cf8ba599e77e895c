// Who leads (rule E1 of the replication protocol), and who must not (I3). The replicas themselves do the
// rest: one that is named promises the epoch and takes over (`replication/core`).
//
// Invariants:
//   CE1  Only a member of the in-sync set is named; an eligible one only while the set is below its
//        minimum. Of those, only one that is fit (`replication/core/fit-leaders.ts`).
//   CE2  A replica is not named for what it had in sync before its data directory was damaged.
//   CE3  A set at or above its minimum has no eligible beside it.
//   CE4  A node that is held is named only where no other one takes leaderships; a leader that stays is never replaced
//        by it.

import type {
  NodeId,
  ReplicaId,
  ShardConfiguration,
} from '../../../replication/core/configuration.ts'
import { fitLeaders, type Fitness } from '../../../replication/core/fit-leaders.ts'
import type { ClusterView } from '../view/cluster-view.ts'
import {
  withLeader,
  withoutLeader,
  type ConfigurationDraft,
} from '../records/configuration-edits.ts'
import type { NodeView } from '../view/node-view.ts'
import type { ShardView } from '../view/shard-view.ts'
import { whenAlive, whenAsStored, type Decision, type Step } from './step.ts'
import { tieBreak } from '../view/tie-break.ts'

type Nodes = Pick<ClusterView, 'nodes'>

/** The leader's life has ended, or nobody leads and somebody could. */
export function needsElection(
  shard: Pick<ShardView, 'ends'>,
  configuration: ShardConfiguration,
  cluster: Nodes,
): boolean {
  const { leader } = configuration
  if (leader !== undefined) return !isAlive(leader, cluster)
  const { kind } = fitness(shard, configuration, cluster)
  return kind === 'fit' || kind === 'ask'
}

/**
 * A damaged replica counts as in sync or eligible, and a whole one is in sync. When all are damaged the set
 * stays as it is: it says whose data was the last, for the operator who has to choose.
 */
export function needsExclusion({ inSync, eligible }: ShardConfiguration, cluster: Nodes): boolean {
  const damaged = inSync.filter((member) => isDamaged(member, cluster)).length
  if (damaged > 0 && damaged < inSync.length) return true
  return eligible.some((replica) => isDamaged(replica, cluster))
}

export function elect(
  shard: ShardView,
  configuration: ShardConfiguration,
  cluster: Nodes,
): Decision {
  const found = fitness(shard, configuration, cluster)
  if (found.kind === 'ask') return { waits: COMPARED, ask: found.nodes }
  const fit = found.kind === 'fit' ? found.nodes : []
  const nodes = fit.map((id) => cluster.nodes.get(id)).filter((node) => node !== undefined)
  const chosen = leastLeading(nodes, shard)
  const { leader } = configuration
  const lost = leader === undefined ? 'nobody led' : `its leader ${leader.node} is gone`
  if (chosen?.live === undefined) {
    const waits = whyNobody(found)
    if (leader === undefined) return { waits }
    const reason = `${lost}, and ${waits}`
    return {
      kind: 'elect',
      shard,
      reason,
      configuration: withoutLeader(configuration),
      when: whenSeen(configuration, cluster),
    }
  }
  const named: ReplicaId = { node: chosen.id, incarnation: chosen.live.record.incarnation }
  return {
    kind: 'elect',
    shard,
    reason: `${chosen.id} leads, because ${lost}`,
    configuration: elected(configuration, named, cluster),
    when: whenSeen(configuration, cluster, chosen.id),
  }
}

export function exclude(shard: ShardView, configuration: ShardConfiguration, cluster: Nodes): Step {
  const isWhole = (replica: ReplicaId): boolean => !isDamaged(replica, cluster)
  const whole = configuration.inSync.filter(isWhole)
  const inSync = whole.length > 0 ? whole : configuration.inSync
  const eligible = configuration.eligible.filter(isWhole)
  const leader =
    configuration.leader && isWhole(configuration.leader) ? configuration.leader : undefined
  return {
    kind: 'elect',
    shard,
    reason: 'the data of a replica is damaged: it is not in sync any more',
    configuration: { ...configuration, leader, inSync, eligible },
    when: [],
  }
}

/**
 * CE4. Another member of the in-sync set that lives the life that is in sync, and takes leaderships.
 * `preferred` before others, then the node that leads least.
 */
export function successor(
  shard: ShardView,
  configuration: ShardConfiguration,
  { cluster, preferred }: { readonly cluster: Nodes; readonly preferred?: NodeId | undefined },
): NodeView | undefined {
  const fit = configuration.inSync
    .filter(({ node }) => node !== configuration.leader?.node)
    .filter((member) => isAlive(member, cluster))
    .map(({ node }) => cluster.nodes.get(node))
    .filter((node) => node?.isPlaceable === true)
    .filter((node) => node !== undefined)
  const free = fit.filter(({ isHeld }) => !isHeld)
  const stays = cluster.nodes.get(configuration.leader?.node ?? '')?.isPlaceable === true
  const takers = free.length > 0 || stays ? free : fit
  return takers.find(({ id }) => id === preferred) ?? leastLeading(takers, shard)
}

/** A planned transfer: the leader is there, and another one takes its place. */
export function handOver(
  {
    shard,
    configuration,
    to,
  }: {
    readonly shard: ShardView
    readonly configuration: ShardConfiguration
    readonly to: NodeView
  },
  kind: Step['kind'],
  reason: string,
): Step {
  const incarnation = to.live?.record.incarnation ?? 0
  return {
    kind,
    shard,
    reason,
    configuration: withLeader(configuration, { node: to.id, incarnation }),
    when: [whenAsStored(to), whenAlive(to)],
  }
}

/** Whether the node still lives the life that is named. */
export function isAlive({ node, incarnation }: ReplicaId, { nodes }: Nodes): boolean {
  return nodes.get(node)?.live?.record.incarnation === incarnation
}

const COMPARED = 'its replicas have started again, and their logs are being compared'

function whyNobody(found: Fitness): string {
  if (found.kind !== 'alone') return 'no replica that has everything is there'
  return (
    `${found.node} has started again, and no other replica that was in sync is there to compare it with; ` +
    'start its node, or decommission it if it is gone for good'
  )
}

/** CE1. */
function fitness(
  { ends }: Pick<ShardView, 'ends'>,
  configuration: ShardConfiguration,
  cluster: Nodes,
): Fitness {
  return fitLeaders(configuration, (replica) => {
    const node = cluster.nodes.get(replica.node)
    const incarnation = node?.live?.record.incarnation
    const end = ends.get(replica.node)
    return {
      incarnation,
      isDamaged: isDamaged(replica, cluster),
      // Not at once: a node that is being emptied may crash, too.
      isGivenUp: node?.isAwayLong === true && node.stored?.record.state === 'decommissioned',
      end: end?.incarnation === incarnation ? end : undefined,
    }
  })
}

/** In this life or a later one over the same, undamaged data. */
function isPresent(replica: ReplicaId, cluster: Nodes): boolean {
  const live = cluster.nodes.get(replica.node)?.live?.record
  return live !== undefined && !isDamaged(replica, cluster)
}

/** CE2. What a damaged life caught up with, in that life, is whole. */
function isDamaged({ node, incarnation }: ReplicaId, { nodes }: Nodes): boolean {
  const live = nodes.get(node)?.live?.record
  return live !== undefined && incarnation < live.wholeSince
}

/**
 * Members that are not there leave the set at once, so that the new leader does not wait for them. If that
 * takes the set below its minimum they become eligible, because nothing is committed from then on.
 */
function elected(
  configuration: ShardConfiguration,
  named: ReplicaId,
  cluster: Nodes,
): ConfigurationDraft {
  const isOther = ({ node }: ReplicaId): boolean => node !== named.node
  const others = configuration.inSync.filter(isOther)
  const inSync = [named, ...others.filter((member) => isPresent(member, cluster))]
  const kept = [...configuration.eligible.filter(isOther), ...others]
    .filter((replica) => !isDamaged(replica, cluster))
    .filter(({ node }) => inSync.every((member) => member.node !== node))
  const eligible = inSync.length >= configuration.minInSync ? [] : kept // CE3
  return { ...withLeader(configuration, named), inSync, eligible }
}

/** Nodes that stay come before leaving ones, and nodes that may lead before nodes with a hold. */
function leastLeading(nodes: readonly NodeView[], { seed }: ShardView): NodeView | undefined {
  let best: NodeView | undefined
  for (const node of nodes) {
    if (best === undefined || isBetterLeader(node, best, seed)) best = node
  }
  return best
}

function isBetterLeader(node: NodeView, best: NodeView, seed: number): boolean {
  if (node.isPlaceable !== best.isPlaceable) return node.isPlaceable
  if (node.isHeld !== best.isHeld) return best.isHeld
  if (node.led.size !== best.led.size) return node.led.size < best.led.size
  return tieBreak(seed, node.seed) < tieBreak(seed, best.seed)
}

/**
 * Members of the in-sync set and the leader that seem to be away are still so, and the others live the lives
 * that were seen.
 */
export function whenSeen(
  { leader, inSync }: ShardConfiguration,
  { nodes }: Nodes,
  chosen?: NodeId,
): Step['when'] {
  const ids = new Set(inSync.map(({ node }) => node))
  if (leader !== undefined) ids.add(leader.node)
  if (chosen !== undefined) ids.add(chosen)
  return [...ids].map((id) => whenAlive(nodes.get(id) ?? { id, live: undefined }))
}
