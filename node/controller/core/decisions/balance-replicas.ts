// Moves replicas from full nodes to empty ones. Each move takes a replica from a node to one with at least
// two fewer, and never into a zone that is worse for the shard: so the sum of the squares falls with each
// move, and balancing ends.

import type { ClusterView } from '../view/cluster-view.ts'
import { startMove } from './move-steps.ts'
import type { NodeView } from '../view/node-view.ts'
import { hasRoom, sharedZones } from './replica-placement.ts'
import { isFeedingEnough, isWhole } from './repairs.ts'
import type { ShardView } from '../view/shard-view.ts'
import type { Step } from './step.ts'

/** The next move for balance; undefined when the nodes are even enough, or no move would help. */
export function balanceReplicas(cluster: ClusterView): Step | undefined {
  // The other half of `movesMax` is kept for repairs; and while half of it is under way, most looks for a move find none.
  if (2 * cluster.moves >= cluster.settings.movesMax) return undefined
  const nodes = settledByLoad(cluster)
  const [lightest, heaviest] = [nodes[0], nodes.at(-1)]
  if (lightest === undefined || heaviest === undefined) return undefined
  const gap = tolerated(nodes, cluster)
  if (heaviest.load - lightest.load < gap) return undefined
  for (const from of nodes.toReversed()) {
    if (from.load - lightest.load < gap) return undefined
    const step = moveFrom(from, nodes, { cluster, gap })
    if (step !== undefined) return step
  }
  return undefined
}

function settledByLoad({ nodes }: ClusterView): readonly NodeView[] {
  return [...nodes.values()]
    .filter(({ isSettled }) => isSettled)
    .toSorted((one, other) => one.load - other.load)
}

/** The difference between two nodes from which on a move is worth its cost. */
function tolerated(nodes: readonly NodeView[], { settings }: ClusterView): number {
  const sum = nodes.reduce((total, { load }) => total + load, 0)
  return Math.max(2, Math.ceil((2 * settings.replicaTolerance * sum) / nodes.length))
}

/** To the lightest node that can take one of its shards. */
function moveFrom(
  from: NodeView,
  nodes: readonly NodeView[],
  { cluster, gap }: { readonly cluster: ClusterView; readonly gap: number },
): Step | undefined {
  // A zone that none of the shards can move to need not be tried with each of its nodes.
  const closed = new Set<string>()
  for (const to of nodes) {
    if (from.load - to.load < gap) return undefined
    if (closed.has(to.zone)) continue
    const shard = movable(from, to, cluster)
    if (shard?.configuration !== undefined) {
      const reason = `${to.id} takes the replica of ${from.id}, which holds more`
      const move = { cause: 'balance' as const, from: from.id }
      const kind = 'balance_replicas'
      return startMove(shard, shard.configuration, { to, move }, { kind, reason })
    }
    if (to.incoming < cluster.settings.movesPerNodeMax) closed.add(to.zone)
  }
  return undefined
}

/** A shard that is whole; one that the node does not lead is preferred. */
function movable(from: NodeView, to: NodeView, cluster: ClusterView): ShardView | undefined {
  let led: ShardView | undefined
  if (to.incoming >= cluster.settings.movesPerNodeMax) return undefined
  for (const shard of from.replicas) {
    if (!isMovable(shard, from, to, cluster)) continue
    if (!from.led.has(shard)) return shard
    led ??= shard
  }
  return led
}

function isMovable(shard: ShardView, from: NodeView, to: NodeView, cluster: ClusterView): boolean {
  const { configuration } = shard
  if (configuration === undefined || to.replicas.has(shard)) return false
  // The cheap and frequent refusals come first: a search may look at every shard of a node.
  if (isFeedingEnough(configuration.leader?.node ?? '', cluster)) return false
  if (!isWhole({ shard, configuration }, cluster)) return false
  if (!hasRoom(to, shard, cluster) || !cluster.hasRoomToMove(shard)) return false
  if (from.zone === to.zone) return true
  const others = configuration.replicas.filter((id) => id !== from.id)
  const before = sharedZones(cluster, configuration.replicas)
  return sharedZones(cluster, [...others, to.id]) <= before
}
