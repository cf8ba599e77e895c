// Spreads leaderships evenly over the nodes. Not every node can take over from every other one: it must hold
// a replica in sync of a shard that the other leads. So a surplus may travel over several nodes.
//
// Each path leads from a node to one that leads at least two fewer, so the sum of the squares falls with a
// path. Its transfers begin where the nodes differ: when only some of them are made, the rest is a shorter
// path, and never one that leads back.

import { must } from '../../../../lib/assert.ts'
import { isBelowMinimum, type ShardConfiguration } from '../../../replication/core/configuration.ts'
import type { ClusterView } from '../view/cluster-view.ts'
import { handOver, isAlive } from './elections.ts'
import type { NodeView } from '../view/node-view.ts'
import type { ShardView } from '../view/shard-view.ts'
import type { Step } from './step.ts'

/** One transfer: the shard, and who leads it next. */
interface Transfer {
  readonly shard: ShardView
  readonly from: NodeView
  readonly to: NodeView
}

/** The transfers of the best path; empty when the nodes are even enough, or no path helps. */
export function balanceLeaders(cluster: ClusterView): readonly Step[] {
  const nodes = [...cluster.nodes.values()]
    .filter(isInBalance)
    .toSorted((one, other) => one.led.size - other.led.size)
  if (nodes.length < 2) return []
  const bounds = boundsOf(nodes, cluster)
  for (const from of nodes.toReversed()) {
    if (from.led.size <= bounds.most) break
    const path = pathFrom(from, cluster)
    if (path.length > 0) return path.map(stepOf)
  }
  for (const to of nodes) {
    if (to.led.size >= bounds.least) break
    const path = pathTo(to, cluster)
    if (path.length > 0) return path.map(stepOf)
  }
  return []
}

function boundsOf(
  nodes: readonly NodeView[],
  { settings }: ClusterView,
): { readonly least: number; readonly most: number } {
  const mean = nodes.reduce((sum, { led }) => sum + led.size, 0) / nodes.length
  const { leaderTolerance } = settings
  return {
    least: Math.floor(mean * (1 - leaderTolerance)),
    most: Math.ceil(mean * (1 + leaderTolerance)),
  }
}

/** The shortest way from the node to one that leads at least two fewer. */
function pathFrom(from: NodeView, cluster: ClusterView): readonly Transfer[] {
  const reached = new Map<NodeView, Transfer | undefined>([[from, undefined]])
  for (const node of reached.keys()) {
    if (node.led.size <= from.led.size - 2) return transfersTo(node, reached)
    for (const transfer of transfersBy(node, cluster)) {
      if (!reached.has(transfer.to)) reached.set(transfer.to, transfer)
    }
  }
  return []
}

function* transfersBy(from: NodeView, cluster: ClusterView): Iterable<Transfer> {
  for (const shard of from.led) {
    for (const to of takers(shard, cluster)) yield { shard, from, to }
  }
}

/** The last transfer first. */
function transfersTo(
  end: NodeView,
  reached: ReadonlyMap<NodeView, Transfer | undefined>,
): readonly Transfer[] {
  const path: Transfer[] = []
  for (let step = reached.get(end); step !== undefined; step = reached.get(step.from)) {
    path.push(step)
  }
  return path
}

/** The same from the other end: who leads at least two more, and can hand over towards the node? */
function pathTo(to: NodeView, cluster: ClusterView): readonly Transfer[] {
  const reached = new Map<NodeView, Transfer | undefined>([[to, undefined]])
  for (const node of reached.keys()) {
    if (node.led.size >= to.led.size + 2) return transfersFrom(node, reached)
    for (const shard of node.replicas) {
      const leader = leaderFor(shard, node, cluster)
      if (leader !== undefined && !reached.has(leader)) {
        reached.set(leader, { shard, from: leader, to: node })
      }
    }
  }
  return []
}

/** The first transfer first. */
function transfersFrom(
  begin: NodeView,
  reached: ReadonlyMap<NodeView, Transfer | undefined>,
): readonly Transfer[] {
  const path: Transfer[] = []
  for (let step = reached.get(begin); step !== undefined; step = reached.get(step.to)) {
    path.push(step)
  }
  return path
}

/** What is held gives its leaderships away, and takes none: both is not a matter of balance. */
function isInBalance({ isSettled, isHeld }: NodeView): boolean {
  return isSettled && !isHeld
}

/** Nodes in the balance with a replica in sync that does not lead. */
function takers(shard: ShardView, cluster: ClusterView): readonly NodeView[] {
  const { configuration } = shard
  if (configuration === undefined || !isCalm(shard, configuration)) return []
  return configuration.inSync
    .filter((member) => member.node !== configuration.leader?.node && isAlive(member, cluster))
    .map(({ node }) => cluster.nodes.get(node))
    .filter((node) => node !== undefined)
    .filter(isInBalance)
}

/** Who leads the shard, if the node could take over from it. */
function leaderFor(shard: ShardView, node: NodeView, cluster: ClusterView): NodeView | undefined {
  const leader = cluster.nodes.get(shard.configuration?.leader?.node ?? '')
  if (leader === undefined || !isInBalance(leader) || leader === node) return undefined
  return takers(shard, cluster).includes(node) ? leader : undefined
}

/** Nothing else is under way, and the set is large enough for writes. */
function isCalm(shard: ShardView, configuration: ShardConfiguration): boolean {
  if (shard.planned !== undefined || shard.move !== undefined) return false
  return !isBelowMinimum(configuration)
}

function stepOf({ shard, from, to }: Transfer): Step {
  const configuration = must(shard.configuration, 'the configuration of a shard that is led')
  const reason = `${to.id} leads instead of ${from.id}, which leads more`
  return handOver({ shard, configuration, to }, 'balance_leaders', reason)
}
