import type { ShardTrouble } from '../controller/core/reported-cluster.ts'
import type { ClusterSummary } from './cluster-answers.ts'

/** What shards with a trouble mean to users. A misplaced replica is on its way, and serves until then. */
const MEANINGS: Readonly<Record<Exclude<ShardTrouble, 'misplaced'>, string>> = {
  unplaced: 'have no replicas yet',
  leaderless: 'have no leader and serve neither reads nor writes',
  below_minimum: 'take no writes, because too few of their replicas are in sync',
  under_replicated: 'have fewer replicas in sync than their tables want',
}

/**
 * What keeps a cluster from being healthy, for its status. A store in swarm mode has no problems but
 * those of its shards, which the status names by themselves.
 */
export function clusterProblems({
  mode,
  nodes,
  shards,
  unreached = [],
  problem,
}: ClusterSummary): readonly string[] {
  if (mode === 'swarm') return []
  const troubles = Object.entries(MEANINGS).flatMap(([trouble, meaning]) => {
    const count = Object.entries(shards).find(([name]) => name === trouble)?.[1] ?? 0
    return count === 0 ? [] : [`${count} of ${shards.total} shards ${meaning}`]
  })
  const missing = [
    ...(nodes.away === 0 ? [] : [`${nodesOf(nodes.away)} away`]),
    ...(nodes.lost === 0
      ? []
      : [`${nodesOf(nodes.lost)} lost: decommission what does not come back`]),
    ...unreached.map(({ node, reason }) => `node ${node} takes no replicas: ${reason}`),
  ]
  const all = [...troubles, ...missing]
  return problem === undefined ? all : [problem, ...all]
}

function nodesOf(count: number): string {
  return count === 1 ? '1 node is' : `${count} nodes are`
}
