// What a cluster looks like to an operator, as data. It is made on request: it walks all shards once.

import type { NodeId } from '../../replication/core/configuration.ts'
import { isAlive, needsElection } from './decisions/elections.ts'
import { phaseOf } from './decisions/move-steps.ts'
import {
  SHARD_TROUBLES,
  type ClusterReport,
  type EmptyingReport,
  type MoveReport,
  type NodeReport,
  type ShardReason,
  type ShardReport,
  type ShardTrouble,
} from './reported-cluster.ts'
import type { ShardPath } from './records/cluster-codec.ts'
import type { ClusterView } from './view/cluster-view.ts'
import type { NodeView } from './view/node-view.ts'
import { withUpdateGates } from './update-gate.ts'
import type { ShardView } from './view/shard-view.ts'

/** One shard more than answers show, so that an answer can say that it is cut. */
const NAMED_SHARDS_MAX = 101

export function reportCluster(cluster: ClusterView): ClusterReport {
  const troubled = new Map<ShardTrouble, ShardView[]>(SHARD_TROUBLES.map((name) => [name, []]))
  for (const shard of cluster.shards.values()) {
    const trouble = troubleOf(shard, cluster)
    if (trouble !== undefined) troubled.get(trouble)?.push(shard)
  }
  const count = (name: ShardTrouble): number => troubled.get(name)?.length ?? 0
  const troubles = {
    unplaced: count('unplaced'),
    leaderless: count('leaderless'),
    below_minimum: count('below_minimum'),
    under_replicated: count('under_replicated'),
    misplaced: count('misplaced'),
  }
  const named = [...cluster.nodes.values()].filter(isWorthNaming)
  const nodes = named.map((node) => reportNode(node, cluster))
  return {
    nodes: withUpdateGates(nodes, troubles),
    shards: cluster.shards.size,
    troubles,
    troubled: [...troubled]
      .flatMap(([trouble, shards]) => shards.map((shard) => ({ trouble, shard })))
      .slice(0, NAMED_SHARDS_MAX)
      .map(({ trouble, shard }) => reportShard(shard, trouble, cluster)),
    moves: [...cluster.shards.values()].map(reportMove).filter((move) => move !== undefined),
  }
}

/** Which shards to list. */
export interface ShardQuery {
  readonly tableId: string | undefined
  readonly trouble: ShardTrouble | 'any' | undefined
  /** Only this shard. */
  readonly path?: ShardPath | undefined
  /** Only shards behind this one, in the order of their paths. */
  readonly after: ShardPath | undefined
  readonly limit: number
}

/** The first shards that the query wants, in the order of their paths. */
export function listShards(cluster: ClusterView, query: ShardQuery): readonly ShardReport[] {
  const { tableId, trouble: wanted, path: only, after = '', limit } = query
  const candidates = [...cluster.shards.values()].filter(
    ({ path, exists, tableId: id }) =>
      exists !== undefined &&
      path > after &&
      (only === undefined || path === only) &&
      (tableId === undefined || id === tableId),
  )
  const page: ShardReport[] = []
  for (const shard of candidates.toSorted((a, b) => (a.path < b.path ? -1 : 1))) {
    if (page.length === limit) break
    const trouble = troubleOf(shard, cluster)
    const isWanted = wanted === 'any' ? trouble !== undefined : trouble === wanted
    if (wanted === undefined || isWanted) page.push(reportShard(shard, trouble, cluster))
  }
  return page
}

function troubleOf(shard: ShardView, cluster: ClusterView): ShardTrouble | undefined {
  const { configuration, exists } = shard
  if (exists === undefined) return undefined
  if (configuration === undefined) return 'unplaced'
  const { leader, inSync, replicas, minInSync } = configuration
  if (leader === undefined || needsElection(shard, configuration, cluster)) return 'leaderless'
  if (inSync.length < minInSync) return 'below_minimum'
  if (inSync.length < cluster.replicationOf(shard).replicationFactor) return 'under_replicated'
  return replicas.some((id) => cluster.nodes.get(id)?.isUnfit ?? true) ? 'misplaced' : undefined
}

function reportShard(
  shard: ShardView,
  trouble: ShardTrouble | undefined,
  cluster: ClusterView,
): ShardReport {
  const { path, configuration, waits } = shard
  const wanted = cluster.replicationOf(shard)
  return {
    path,
    trouble,
    leader: configuration?.leader?.node,
    epoch: configuration?.epoch ?? 0,
    replicas: configuration?.replicas ?? [],
    inSync: configuration?.inSync.map(({ node }) => node) ?? [],
    minInSync: configuration?.minInSync ?? wanted.minInSync,
    replicationFactor: wanted.replicationFactor,
    move: reportMove(shard),
    waits,
  }
}

function reportMove(shard: ShardView): MoveReport | undefined {
  const { path, configuration, move, bytes, waits } = shard
  if (configuration === undefined || move === undefined) return undefined
  const { cause, from, to } = move
  return { path, cause, from, to, phase: phaseOf({ configuration, move }), bytes, waits }
}

/** One that has no record and holds nothing any more is a name that old configurations mentioned. */
function isWorthNaming({ stored, live, replicas }: NodeView): boolean {
  const isForgotten = stored === undefined || stored.record.state === 'forgotten'
  return !isForgotten || live !== undefined || replicas.size > 0
}

function reportNode(node: NodeView, cluster: ClusterView): Omit<NodeReport, 'updateWaitsFor'> {
  const { id, zone, stored, live, condition, replicas, led } = node
  return {
    id,
    zone,
    condition,
    incarnation: live?.record.incarnation,
    version: live?.record.version,
    addresses: live?.record.addresses ?? stored?.record.addresses,
    unreached: live?.record.unreached,
    replicas: replicas.size,
    leaders: led.size,
    movesIn: node.incoming,
    movesOut: node.outgoing,
    disk: live === undefined ? undefined : node.disk,
    neededFor: neededFor(node, cluster),
    ...recordOf(node),
  }
}

/** What its record says: who it is, and what operators want of it. */
function recordOf(
  node: NodeView,
): Pick<NodeReport, 'state' | 'name' | 'registeredAtMs' | 'operationId' | 'hold' | 'emptying'> {
  const { state, name, registeredAtMs, operationId, hold } = node.stored?.record ?? {}
  return {
    state,
    name,
    registeredAtMs,
    operationId,
    hold: node.isHeld ? hold : undefined,
    emptying: state === undefined || state === 'serving' ? undefined : reportEmptying(node),
  }
}

function neededFor(node: NodeView, cluster: ClusterView): string | undefined {
  const { id, replicas, condition } = node
  if (replicas.size === 0) return undefined
  if (!node.isLive) {
    return `it is ${condition}, and holds replicas of ${shardCount(replicas.size)}`
  }
  const needing = [...replicas].filter((shard) => needs(shard, id, cluster)).length
  if (needing === 0) return undefined
  return `${shardCount(needing)} would take no writes without it`
}

/** Whether the shard would not take writes if the node stopped in order. */
function needs({ configuration }: ShardView, id: NodeId, cluster: ClusterView): boolean {
  if (configuration === undefined) return false
  const { inSync, minInSync } = configuration
  if (inSync.every(({ node }) => node !== id)) return false
  const others = inSync.filter((member) => member.node !== id && isAlive(member, cluster))
  return others.length < Math.max(minInSync, 1)
}

function shardCount(count: number): string {
  return count === 1 ? '1 shard' : `${count} shards`
}

function reportEmptying({ replicas, led, outgoing }: NodeView): EmptyingReport {
  const waiting: ShardReason[] = []
  for (const { path, waits } of replicas) {
    if (waiting.length === NAMED_SHARDS_MAX) break
    if (waits !== undefined) waiting.push({ path, reason: waits })
  }
  return {
    isDone: replicas.size === 0,
    replicasLeft: replicas.size,
    leadersLeft: led.size,
    moving: outgoing,
    waiting,
  }
}
