// Where a replica goes: into the zone with the fewest replicas of its shard, there to the node with the
// fewest replicas of all shards. Ties are broken by a hash, differently for each shard.

import type { NodeId } from '../../../replication/core/configuration.ts'
import type { ClusterView } from '../view/cluster-view.ts'
import type { NodeView } from '../view/node-view.ts'
import type { ShardView } from '../view/shard-view.ts'
import { tieBreak } from '../view/tie-break.ts'

/** For which replica a node is sought. */
export interface PlacementRequest {
  readonly shard: ShardView
  /** Nodes that hold replicas of the shard and keep them. */
  readonly beside: readonly NodeId[]
  /** Nodes that are not to be chosen, beside those. */
  readonly without: readonly NodeId[]
  /** Whether the replica is copied, so that the limits of moves hold. */
  readonly isMove: boolean
}

/** The node for one more replica; undefined when none can take it. */
export function chooseNode(
  cluster: Pick<ClusterView, 'nodes' | 'settings'>,
  request: PlacementRequest,
): NodeView | undefined {
  const { shard, beside, without, isMove } = request
  const zones = beside.map((id) => cluster.nodes.get(id)?.zone ?? '')
  let best: NodeView | undefined
  let bestShared = 0
  for (const node of cluster.nodes.values()) {
    if (!node.takesReplicas || beside.includes(node.id) || without.includes(node.id)) continue
    if (isMove && !hasRoom(node, shard, cluster)) continue
    const shared = countOf(zones, node.zone)
    if (
      best !== undefined &&
      !isBetter({ node, shared }, { node: best, shared: bestShared }, shard)
    ) {
      continue
    }
    best = node
    bestShared = shared
  }
  return best
}

/** Whether one more move to the node stays within its limits. */
export function hasRoom(
  node: NodeView,
  { bytes = 0 }: ShardView,
  { settings }: Pick<ClusterView, 'settings'>,
): boolean {
  const fits = node.incoming === 0 || node.incomingBytes + bytes <= settings.moveBytesPerNodeMax
  return node.incoming < settings.movesPerNodeMax && fits
}

/** Pairs of replicas that share a zone: 0 is the best spread. */
export function sharedZones(cluster: Pick<ClusterView, 'nodes'>, nodes: readonly NodeId[]): number {
  const zones = nodes.map((id) => cluster.nodes.get(id)?.zone ?? '')
  let pairs = 0
  for (const [at, zone] of zones.entries()) pairs += countOf(zones.slice(0, at), zone)
  return pairs
}

interface Candidate {
  readonly node: NodeView
  readonly shared: number
}

function isBetter(one: Candidate, other: Candidate, { seed }: ShardView): boolean {
  if (one.shared !== other.shared) return one.shared < other.shared
  if (one.node.load !== other.node.load) return one.node.load < other.node.load
  return tieBreak(seed, one.node.seed) < tieBreak(seed, other.node.seed)
}

function countOf(zones: readonly string[], zone: string): number {
  let count = 0
  for (const other of zones) if (other === zone) count += 1
  return count
}
