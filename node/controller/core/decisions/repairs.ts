// What a shard lacks: its first replicas, replicas on fit nodes, as many as its table wants, in as many
// zones as there are.

import { unreachable } from '../../../../lib/assert.ts'
import type { NodeId, ShardConfiguration } from '../../../replication/core/configuration.ts'
import type { ClusterView } from '../view/cluster-view.ts'
import { firstConfiguration } from '../records/configuration-edits.ts'
import { isAlive } from './elections.ts'
import { mayLeave, startMove, withoutReplicaOf } from './move-steps.ts'
import type { NodeView } from '../view/node-view.ts'
import { chooseNode, sharedZones } from './replica-placement.ts'
import { isInSync, type ShardView } from '../view/shard-view.ts'
import { whenAlive, whenAsStored, type Decision, type Step } from './step.ts'

/** A shard with a configuration and without a move. */
export interface Placed {
  readonly shard: ShardView
  readonly configuration: ShardConfiguration
}

/** What has to be done about replicas, the most urgent first. Found without a search over nodes. */
export type Repair =
  | { readonly kind: 'trim'; readonly node: NodeId }
  | { readonly kind: 'repair' | 'drain'; readonly from: NodeId | undefined }
  | { readonly kind: 'spread'; readonly from: NodeId }

/** The first replicas. Everybody begins with an empty log, and so in sync. */
export function place(shard: ShardView, cluster: ClusterView): Decision {
  const { replicationFactor, minInSync } = cluster.replicationOf(shard)
  const chosen: NodeView[] = []
  while (chosen.length < replicationFactor) {
    const beside = chosen.map(({ id }) => id)
    const node = chooseNode(cluster, { shard, beside, without: [], isMove: false })
    if (node === undefined) break
    chosen.push(node)
  }
  const [first] = chosen
  if (first === undefined) return { waits: 'no node takes replicas' }
  const free = chosen.filter(({ isHeld }) => !isHeld)
  const [least = first] = free.toSorted((one, other) => one.led.size - other.led.size)
  const few = chosen.length < replicationFactor ? `, ${replicationFactor} are wanted` : ''
  return {
    kind: 'place',
    shard,
    reason: `a new shard: ${chosen.length} replicas${few}`,
    configuration: firstConfiguration(chosen.map(lifeOf), { leader: lifeOf(least), minInSync }),
    when: chosen.flatMap((node) => [whenAsStored(node), whenAlive(node)]),
  }
}

export function repairOf(placed: Placed, cluster: ClusterView): Repair | undefined {
  const { replicas } = placed.configuration
  const { replicationFactor } = cluster.replicationOf(placed.shard)
  if (replicas.length > replicationFactor) {
    const node = superfluous(placed, cluster)
    if (node !== undefined) return { kind: 'trim', node }
  }
  const isUnfit = (id: NodeId): boolean => cluster.nodes.get(id)?.isUnfit ?? true
  const unfit = replicas.filter(isUnfit)
  if (replicas.length - unfit.length < replicationFactor) {
    const from = unfit.find((id) => cluster.nodes.get(id)?.condition !== 'emptying') ?? unfit[0]
    const isDrain = from !== undefined && cluster.nodes.get(from)?.condition === 'emptying'
    if (from !== undefined) return { kind: isDrain ? 'drain' : 'repair', from }
    return { kind: 'repair', from: undefined }
  }
  const from = crowded(placed, cluster)
  return from === undefined ? undefined : { kind: 'spread', from }
}

/** The step that the repair asks for, or why it cannot begin. */
export function repair(
  { shard, configuration }: Placed,
  wanted: Repair,
  cluster: ClusterView,
): Decision {
  if (wanted.kind === 'trim') return trim({ shard, configuration }, wanted.node, cluster)
  const { leader, replicas } = configuration
  if (leader === undefined || !isAlive(leader, cluster)) {
    return { waits: 'no leader is there from which a new replica could be copied' }
  }
  if (!cluster.hasRoomToMove(shard) || isFeedingEnough(leader.node, cluster)) {
    return { waits: 'other moves come first' }
  }
  const { from, kind } = wanted
  const beside = replicas.filter((id) => id !== from)
  const without = from === undefined ? [] : [from]
  const to = chooseNode(cluster, { shard, beside, without, isMove: true })
  if (to === undefined) return { waits: whyNobody(shard, replicas, cluster) }
  if (kind === 'spread' && !isBetterSpread(beside, [from, to.id], cluster)) {
    return { waits: 'no node of another zone takes it now' }
  }
  const cause = kind === 'repair' ? (from === undefined ? 'grow' : 'replace') : kind
  const reason = reasonOf(cause, from, to.id)
  return startMove(shard, configuration, { to, move: { cause, from } }, { kind, reason })
}

/** A node that feeds as many moves as it may. */
export function isFeedingEnough(leader: NodeId, { nodes, settings }: ClusterView): boolean {
  return (nodes.get(leader)?.feeding ?? 0) >= settings.movesPerNodeMax
}

/** Nothing is missing and nothing is on its way: such a shard may be moved for balance. */
export function isWhole({ shard, configuration }: Placed, cluster: ClusterView): boolean {
  if (shard.planned !== undefined || shard.move !== undefined) return false
  const { inSync, replicas, leader } = configuration
  if (leader === undefined || inSync.length !== replicas.length) return false
  if (replicas.length !== cluster.replicationOf(shard).replicationFactor) return false
  return inSync.every((member) => isAlive(member, cluster))
}

function reasonOf(
  cause: 'grow' | 'replace' | 'drain' | 'spread',
  from: NodeId | undefined,
  to: NodeId,
): string {
  switch (cause) {
    case 'grow':
      return `${to} gets a replica, because the shard has too few`
    case 'replace':
      return `${to} replaces ${from}, which is lost`
    case 'drain':
      return `${to} takes the replica of ${from}, which is to be emptied`
    case 'spread':
      return `${to} takes the replica of ${from}, so that no two share a zone`
    default:
      return unreachable(cause)
  }
}

/** For an operator. */
function whyNobody(shard: ShardView, replicas: readonly NodeId[], cluster: ClusterView): string {
  const others = [...cluster.nodes.values()].filter(
    ({ takesReplicas, id }) => takesReplicas && !replicas.includes(id),
  )
  if (others.length > 0) return 'the nodes that could take it have enough moves'
  const { replicationFactor } = cluster.replicationOf(shard)
  const serving = [...cluster.nodes.values()].filter(({ takesReplicas }) => takesReplicas).length
  return `too few nodes: ${serving} serve, and ${replicationFactor} replicas are wanted`
}

function trim(placed: Placed, node: NodeId, cluster: ClusterView): Step {
  return {
    ...withoutReplicaOf(placed, node, cluster),
    kind: 'trim',
    reason: `${node} gives up its replica, because the shard has one too many`,
  }
}

/** The replica to give up: on an unfit node, or out of sync, or in a crowded zone, or on a full node. */
function superfluous(placed: Placed, cluster: ClusterView): NodeId | undefined {
  const { configuration } = placed
  const removable = configuration.replicas
    .filter((id) => id !== configuration.leader?.node)
    .filter((id) => mayLeave(placed, id, cluster))
  let best: NodeId | undefined
  let bestRank = -Infinity
  for (const id of removable) {
    const rank = rankToLeave(id, configuration, cluster)
    if (rank > bestRank) [best, bestRank] = [id, rank]
  }
  return best
}

function rankToLeave(id: NodeId, configuration: ShardConfiguration, cluster: ClusterView): number {
  const node = cluster.nodes.get(id)
  if (node?.isUnfit !== false) return 1e9
  if (!isInSync(configuration, id)) return 1e8
  const without = configuration.replicas.filter((other) => other !== id)
  const gain = sharedZones(cluster, configuration.replicas) - sharedZones(cluster, without)
  return gain * 1e7 + node.load
}

/** A replica that shares its zone with another one while a zone without replicas takes them. */
function crowded(placed: Placed, cluster: ClusterView): NodeId | undefined {
  const { replicas, leader } = placed.configuration
  const zones = replicas.map((id) => cluster.nodes.get(id)?.zone ?? '')
  if (new Set(zones).size === zones.length || !isWhole(placed, cluster)) return undefined
  let isFree = false
  for (const zone of cluster.settledZones) isFree ||= !zones.includes(zone)
  if (!isFree) return undefined
  const sharing = replicas.filter(
    (_, at) => zones.indexOf(zones[at] ?? '') !== zones.lastIndexOf(zones[at] ?? ''),
  )
  return sharing.find((id) => id !== leader?.node) ?? sharing[0]
}

function isBetterSpread(
  beside: readonly NodeId[],
  [from, to]: readonly [NodeId | undefined, NodeId],
  cluster: ClusterView,
): boolean {
  const before = sharedZones(cluster, from === undefined ? beside : [...beside, from])
  return sharedZones(cluster, [...beside, to]) < before
}

function lifeOf({ id, live }: NodeView): { readonly node: NodeId; readonly incarnation: number } {
  return { node: id, incarnation: live?.record.incarnation ?? 0 }
}
