// The counts of a cluster as one node knows them: for answers while no controller reports.

import { isBelowMinimum, type ShardConfiguration } from '../replication/core/configuration.ts'
import type { ClusterMap } from './cluster-map.ts'
import type { KnownNode } from './known-cluster.ts'

/** What is not known to one node is not counted: which shards wait for a first placement, and why others wait. */
export interface KnownCounts {
  /** How long ago the last news of the cluster came, at least; 0 while the coordination store answers. */
  readonly ageMs: number
  readonly nodes: Readonly<Record<'serving' | 'leaving' | 'emptying' | 'away', number>>
  readonly shards: Readonly<
    Record<'total' | 'leaderless' | 'below_minimum' | 'under_replicated', number>
  >
  readonly moves: number
  /** The coordination store went back: nothing changes until nodes start again. */
  readonly isFrozen: boolean
}

type Known = Pick<ClusterMap, 'nodes' | 'shards' | 'health' | 'moveOf'>

export function knownCounts(map: Known, nowMs: number): KnownCounts {
  const nodes = { serving: 0, leaving: 0, emptying: 0, away: 0 }
  for (const node of map.nodes()) {
    const condition = conditionOf(node)
    if (condition !== undefined) nodes[condition] += 1
  }
  const shards = { total: 0, leaderless: 0, below_minimum: 0, under_replicated: 0 }
  let moves = 0
  for (const [path, configuration] of map.shards()) {
    shards.total += 1
    const trouble = troubleOf(configuration)
    if (trouble !== undefined) shards[trouble] += 1
    if (map.moveOf(path) !== undefined) moves += 1
  }
  const { health } = map
  const ageMs = health.kind === 'stale' ? Math.max(0, nowMs - health.sinceMs) : 0
  return { ageMs, nodes, shards, moves, isFrozen: health.kind === 'frozen' }
}

/** Undefined for a node that is gone and that nobody waits for. */
export function conditionOf({
  state,
  registration,
}: Pick<KnownNode, 'state' | 'registration'>): keyof KnownCounts['nodes'] | undefined {
  if (registration === undefined) {
    return state === 'decommissioned' || state === 'forgotten' ? undefined : 'away'
  }
  if (state !== 'serving') return 'emptying'
  return registration.isLeaving ? 'leaving' : 'serving'
}

function troubleOf(
  configuration: ShardConfiguration,
): Exclude<keyof KnownCounts['shards'], 'total'> | undefined {
  const { leader, inSync, replicas } = configuration
  if (leader === undefined) return 'leaderless'
  if (isBelowMinimum(configuration)) return 'below_minimum'
  return inSync.length < replicas.length ? 'under_replicated' : undefined
}
