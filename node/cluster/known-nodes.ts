// The nodes of a cluster as one node knows them: for answers while no controller reports.

import type { EmptyingReport, NodeReport } from '../controller/core/reported-cluster.ts'
import { holdLeftMs } from '../controller/core/records/node-record.ts'
import type { NodeId } from '../replication/core/configuration.ts'
import type { ClusterMap } from './cluster-map.ts'
import { conditionOf } from './known-counts.ts'

const NOT_NOW = 'no controller says whether its shards can do without it'

type Known = Pick<ClusterMap, 'nodes' | 'shards' | 'moveOf'>

/** What only a controller knows is left out: whether a node that is away is lost, and whether one is empty for good. */
export function knownNodes(map: Known, nowMs: number): readonly NodeReport[] {
  const counts = countReplicas(map)
  return map.nodes().flatMap((node) => {
    const { id, name, zone, state, registration, addresses, operationId, hold } = node
    const { registeredAtMs } = node
    if (state === 'forgotten') return []
    const held = counts.get(id) ?? NOTHING
    const isEmptied = state === 'draining' || state === 'decommissioned'
    return {
      id,
      name,
      zone,
      state,
      condition: conditionOf({ state, registration }) ?? 'away',
      incarnation: registration?.incarnation,
      version: registration?.version,
      addresses: registration?.addresses ?? addresses,
      unreached: registration?.unreached,
      ...held,
      neededFor: NOT_NOW,
      updateWaitsFor: [NOT_NOW],
      operationId,
      registeredAtMs,
      disk: undefined,
      hold: holdLeftMs({ hold }, nowMs) > 0 ? hold : undefined,
      emptying: isEmptied ? emptyingOf(held) : undefined,
    }
  })
}

interface Counts {
  replicas: number
  leaders: number
  movesIn: number
  movesOut: number
}

const NOTHING: Readonly<Counts> = { replicas: 0, leaders: 0, movesIn: 0, movesOut: 0 }

/** It may get a move that this node has not heard of, so it is not called done. */
function emptyingOf({ replicas, leaders, movesOut }: Readonly<Counts>): EmptyingReport {
  return {
    isDone: false,
    replicasLeft: replicas,
    leadersLeft: leaders,
    moving: movesOut,
    waiting: [],
  }
}

function countReplicas(map: Known): ReadonlyMap<NodeId, Readonly<Counts>> {
  const counts = new Map<NodeId, Counts>()
  const countsOf = (id: NodeId): Counts => {
    const known = counts.get(id) ?? { ...NOTHING }
    counts.set(id, known)
    return known
  }
  for (const [path, { replicas, leader }] of map.shards()) {
    for (const id of replicas) countsOf(id).replicas += 1
    if (leader !== undefined) countsOf(leader.node).leaders += 1
    const move = map.moveOf(path)
    if (move === undefined) continue
    countsOf(move.to).movesIn += 1
    if (move.from !== undefined) countsOf(move.from).movesOut += 1
  }
  return counts
}
