// What a rolling update has to know before it stops the next node, in one answer and of one moment.
//
// Invariants:
//   CU1  The gate of a node is open only if no shard lacks anything, all other nodes serve, and the shards of the
//        node take writes without it.
//   CU2  What is not known closes it.

import type { NodeReport, ShardTrouble } from './reported-cluster.ts'

/** Troubles that close every gate, in words. A misplaced replica is on a node that closes them itself. */
const CLOSING: readonly (readonly [ShardTrouble, string])[] = [
  ['unplaced', 'without replicas'],
  ['leaderless', 'without a leader'],
  ['below_minimum', 'with too few replicas in sync for writes'],
  ['under_replicated', 'with fewer replicas in sync than wanted'],
]

/** A node before its gate is known. */
type Ungated = Omit<NodeReport, 'updateWaitsFor'>

/** The nodes, each with what closes its gate; an empty list: an update may stop it now. */
export function withUpdateGates(
  nodes: readonly Ungated[],
  troubles: Readonly<Record<ShardTrouble, number>>,
): readonly NodeReport[] {
  const shards = CLOSING.flatMap(([trouble, words]) => {
    const count = troubles[trouble]
    return count === 0 ? [] : [`${count === 1 ? '1 shard is' : `${count} shards are`} ${words}`]
  })
  const busy = nodes.flatMap((node) => {
    const why = whyBusy(node)
    return why === undefined ? [] : [{ id: node.id, reason: `${node.name ?? node.id} is ${why}` }]
  })
  return nodes.map((node) => {
    // One of each kind is enough for a person: the list of nodes has the others.
    const other = busy.find(({ id }) => id !== node.id)
    const own = node.neededFor === undefined ? [] : [node.neededFor]
    return { ...node, updateWaitsFor: [...shards, ...(other ? [other.reason] : []), ...own] }
  })
}

/** Undefined for a node that serves, and for one that is out of the cluster: decommissioned, gone and empty. */
function whyBusy({ state, condition, replicas, unreached }: Ungated): string | undefined {
  if (condition === 'serving') return unreached === undefined ? undefined : 'not reached by others'
  const isOut = state === 'decommissioned' && condition === 'lost' && replicas === 0
  return isOut ? undefined : condition
}
