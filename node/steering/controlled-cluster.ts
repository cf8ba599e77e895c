// A cluster of several nodes as the HTTP API sees it: reports of the control plane with the names of tables.

import { must } from '../../lib/assert.ts'
import type { Clock } from '../../lib/clock.ts'
import { answerWithin } from '../../lib/deadline.ts'
import { messageOf, ServiceError } from '../../lib/errors.ts'
import type {
  ClusterReport,
  MoveReport,
  NodeReport,
  ShardReport,
} from '../controller/core/reported-cluster.ts'
import type { KnownCounts } from '../cluster/known-counts.ts'
import type { NodeSteering } from '../controller/core/node-requests.ts'
import type { Refusal } from '../controller/core/operator-requests.ts'
import type { ShardPath } from '../controller/core/records/cluster-codec.ts'
import type { NodeHold } from '../controller/core/records/node-record.ts'
import type { NodeCondition } from '../controller/core/view/node-view.ts'
import type { NodeId } from '../replication/core/configuration.ts'
import type { ReplicaLag } from '../replication/core/follower-progress.ts'
import type { TableRegistry } from '../catalog/tables/table-registry.ts'
import type {
  ClusterMove,
  ClusterNode,
  ClusterReplica,
  ClusterShard,
  ClusterSummary,
  CollectAnswer,
  NodeEmptying,
  NodeList,
  RecoveryAnswer,
  ShardPage,
  WaitingShard,
} from './cluster-answers.ts'
import type { ClusterControl } from './cluster-control.ts'
import type { ClusterService, ShardFilter } from './cluster-service.ts'
import type { Leftovers } from './leftovers.ts'
import { worstLag, type ReplicaLags, type ShardLags } from '../replicas/replica-lags.ts'

const WAITING_MAX = 100
/** The status and the list of nodes have an answer by then, whether a controller is elected or not. */
const REPORT_MS = 2000
const EARLIER = 'the controller runs an earlier version, which does not say'
const SILENT = 'no controller answers'

/** What the cluster is shown by. */
export interface ControlledClusterOptions {
  readonly control: ClusterControl
  /** Has the names of tables, and which shards there are. */
  readonly registry: TableRegistry
  /** How far followers are behind, as far as their leaders answer. */
  readonly lags: Pick<ReplicaLags, 'ask' | 'askAll'>
  readonly leftovers: Pick<Leftovers, 'collect'>
  readonly recover: ClusterService['recover']
  readonly clock: Clock
}

/** Shows and steers a cluster through its control plane. */
export class ControlledCluster implements ClusterService {
  readonly #with: ControlledClusterOptions

  constructor(options: ControlledClusterOptions) {
    this.#with = options
  }

  /** Within REPORT_MS: what no controller has reported by then is told from what this node knows. */
  async summary(): Promise<ClusterSummary> {
    const { control, clock } = this.#with
    const asked = control.report().catch((error: unknown) => messageOf(error))
    const report = await answerWithin(asked, { clock, ms: REPORT_MS })
    const problem = control.problem()
    const controller = control.controller() ?? null
    const { isFrozen } = control.known()
    const frozen = isFrozen ? ({ frozen: true } as const) : {}
    const base = { mode: 'cluster', name: control.name, controller, ...frozen } as const
    if (report === undefined || typeof report === 'string') {
      const silent = report ?? SILENT
      return { ...base, ...knownSummary(control.known()), problem: problem ?? silent }
    }
    return {
      ...base,
      nodes: countConditions(report),
      shards: { total: report.shards, ...report.troubles },
      moves: report.moves.length,
      ...this.#delaysIn(report),
      ...(problem === undefined ? {} : { problem }),
    }
  }

  /** Within REPORT_MS, as `summary`. */
  async nodes(): Promise<NodeList> {
    const { control, clock } = this.#with
    const asked = control.report().catch((error: unknown) => messageOf(error))
    const report = await answerWithin(asked, { clock, ms: REPORT_MS })
    if (report !== undefined && typeof report !== 'string') {
      return { nodes: this.#listed(report.nodes) }
    }
    const problem = control.problem() ?? report ?? SILENT
    const ageMs = Math.round(control.known().ageMs)
    return { nodes: this.#listed(control.knownNodes()), age_ms: ageMs, problem }
  }

  async collectLeftovers(node: string, shards: readonly string[]): Promise<CollectAnswer> {
    await this.#node(node)
    return this.#with.leftovers.collect(node, shards)
  }

  recover(without: readonly string[]): Promise<RecoveryAnswer> {
    return this.#with.recover(without)
  }

  async shards({ table, trouble, limit, cursor }: ShardFilter): Promise<ShardPage> {
    const { control, registry } = this.#with
    const tableId = table === undefined ? undefined : registry.get(table).tableId
    // One more than asked for tells whether another page follows.
    const query = { tableId, trouble, after: cursor?.replace('.', '/'), limit: limit + 1 }
    const found = await control.listShards(query)
    const shown = found.slice(0, limit)
    const last = shown.at(-1)
    const hasMore = found.length > limit && last !== undefined
    return {
      shards: await this.#shardsOf(shown),
      // A slash would have to be encoded in a query string.
      ...(hasMore ? { next_cursor: last.path.replace('/', '.') } : {}),
    }
  }

  async slowest(): Promise<ReadonlyMap<string, ReplicaLag>> {
    const lags = await this.#with.lags.askAll()
    const worst = new Map<string, ReplicaLag>()
    for (const [id, ofShard] of lags) {
      const lag = worstLag(ofShard)
      if (lag !== undefined) worst.set(id, lag)
    }
    return worst
  }

  async steerNode(node: string, steering: NodeSteering): Promise<ClusterNode> {
    const { condition } = await this.#node(node)
    if (steering.kind === 'hand_over' && (condition === 'away' || condition === 'lost')) {
      throw new ServiceError('CONFLICT', `${node} is ${condition}: it has nothing to hand over`)
    }
    accepted(await this.#with.control.requestOfNode({ ...steering, node }))
    return this.#nodeOf(await this.#node(node))
  }

  async forgetNode(node: string): Promise<void> {
    const { condition, replicas, state } = await this.#node(node)
    const isGone = condition === 'lost' && replicas === 0
    if (state === 'decommissioned' && !isGone) {
      const what = `it is ${condition} and holds ${replicas} replicas`
      throw new ServiceError('CONFLICT', `${node} cannot be forgotten yet: ${what}`)
    }
    accepted(await this.#with.control.requestOfNode({ kind: 'forget', node }))
  }

  async moveReplica(
    shard: string,
    { from, to }: { readonly from: string; readonly to: string },
  ): Promise<ClusterShard> {
    const path = this.#pathOf(shard)
    const before = await this.#shard(path)
    if (!isMoved(before, { from, to })) {
      await this.#node(from)
      await this.#node(to)
      accepted(await this.#with.control.requestMove({ path, from, to }))
    }
    return this.#shown(path)
  }

  async transferLeader(shard: string, to: string): Promise<ClusterShard> {
    const path = this.#pathOf(shard)
    const before = await this.#shard(path)
    if (before.leader !== to) {
      await this.#node(to)
      accepted(await this.#with.control.requestTransfer({ path, to }))
    }
    return this.#shown(path)
  }

  #listed(nodes: readonly NodeReport[]): readonly ClusterNode[] {
    return nodes.toSorted((a, b) => (a.id < b.id ? -1 : 1)).map((node) => this.#nodeOf(node))
  }

  async #node(id: string): Promise<NodeReport> {
    const { nodes } = await this.#with.control.report()
    const found = nodes.find((node) => node.id === id)
    if (found !== undefined) return found
    throw new ServiceError('NOT_FOUND', `no node "${id}" is in the cluster; list the nodes`)
  }

  async #shard(path: ShardPath): Promise<ShardReport> {
    const query = { path, tableId: undefined, trouble: undefined, after: undefined, limit: 1 }
    const [found] = await this.#with.control.listShards(query)
    if (found !== undefined) return found
    throw unknownShard(idOf(path))
  }

  async #shown(path: ShardPath): Promise<ClusterShard> {
    const [shard] = await this.#shardsOf([await this.#shard(path)])
    return must(shard, 'the shard that was asked for')
  }

  #pathOf(id: string): ShardPath {
    for (const { tableId, shards } of this.#with.registry.tables()) {
      if (shards.some((shard) => shard.id === id)) return `${tableId}/${id}`
    }
    throw unknownShard(id)
  }

  #tableOf(path: ShardPath): string {
    const tableId = path.split('/')[0] ?? ''
    return this.#with.registry.openTable(tableId)?.record.name ?? tableId
  }

  /** What waits and why, and the nodes that others cannot use: the first of each. */
  #delaysIn(report: ClusterReport): Pick<ClusterSummary, 'waiting' | 'unreached' | 'truncated'> {
    const reasons = new Map<ShardPath, string>()
    for (const { path, waits } of [...report.troubled, ...report.moves]) {
      if (waits !== undefined) reasons.set(path, waits)
    }
    const unreached = unreachedIn(report)
    return {
      waiting: [...reasons]
        .slice(0, WAITING_MAX)
        .map(([path, reason]) => this.#waiting(path, reason)),
      ...(unreached.length === 0 ? {} : { unreached: unreached.slice(0, WAITING_MAX) }),
      ...truncatedIf(Math.max(reasons.size, unreached.length) > WAITING_MAX),
    }
  }

  #waiting(path: ShardPath, reason: string): WaitingShard {
    return { table: this.#tableOf(path), shard: idOf(path), reason }
  }

  #nodeOf(node: NodeReport): ClusterNode {
    const { id, name, zone, state, condition, incarnation, version, addresses } = node
    const { unreached, neededFor, operationId, hold } = node
    const emptying = this.#emptyingOf(node)
    return {
      id,
      ...(name === undefined ? {} : { name }),
      zone,
      state: state ?? 'unknown',
      condition,
      ...(incarnation === undefined ? {} : { incarnation }),
      ...(version === undefined ? {} : { version }),
      ...(addresses === undefined ? {} : { api: addresses.api }),
      ...(operationId === undefined ? {} : { operation_id: operationId }),
      ...(hold === undefined ? {} : { hold: holdOf(hold) }),
      ...(unreached === undefined ? {} : { unreached }),
      replicas: node.replicas,
      leaders: node.leaders,
      moves_in: node.movesIn,
      moves_out: node.movesOut,
      safe_to_stop: neededFor === undefined,
      ...(neededFor === undefined ? {} : { needed_for: neededFor }),
      ...updateOf(node),
      ...(emptying === undefined ? {} : { emptying }),
      ...machineOf(node),
    }
  }

  #emptyingOf({ emptying }: NodeReport): NodeEmptying | undefined {
    if (emptying === undefined) return undefined
    const { isDone, replicasLeft, leadersLeft, moving, waiting } = emptying
    return {
      done: isDone,
      replicas_left: replicasLeft,
      leaders_left: leadersLeft,
      moving,
      waiting: waiting.slice(0, WAITING_MAX).map(({ path, reason }) => this.#waiting(path, reason)),
      ...truncatedIf(waiting.length > WAITING_MAX),
    }
  }

  /** Each leader is asked once, about the shards among these that it leads. */
  async #shardsOf(shards: readonly ShardReport[]): Promise<readonly ClusterShard[]> {
    const question = new Map<NodeId, string[]>()
    for (const { path, leader } of shards) {
      if (leader === undefined) continue
      const led = question.get(leader) ?? []
      led.push(idOf(path))
      question.set(leader, led)
    }
    const lags = await this.#with.lags.ask(question)
    return shards.map((shard) => this.#shardOf(shard, lags.get(idOf(shard.path))))
  }

  #shardOf(shard: ShardReport, lags: ShardLags | undefined): ClusterShard {
    const { path, trouble, waits, move } = shard
    return {
      id: idOf(path),
      table: this.#tableOf(path),
      epoch: shard.epoch,
      leader: shard.leader ?? null,
      replicas: shard.replicas.map((node) => replicaOf(shard, node, lags?.get(node))),
      replication_factor: shard.replicationFactor,
      min_in_sync: shard.minInSync,
      ...(trouble === undefined ? {} : { trouble }),
      ...(waits === undefined ? {} : { waits }),
      ...(move === undefined ? {} : { move: moveOf(move) }),
    }
  }
}

function replicaOf(
  { leader, inSync }: ShardReport,
  node: NodeId,
  lag: ReplicaLag | undefined,
): ClusterReplica {
  const isInSync = inSync.includes(node)
  return {
    node,
    role: node === leader ? 'leader' : isInSync ? 'follower' : 'learner',
    in_sync: isInSync,
    ...(lag === undefined ? {} : { lag: lag.entries, lag_ms: lag.ms }),
  }
}

/** While no controller reports. */
function knownSummary({
  ageMs,
  nodes,
  shards,
  moves,
}: KnownCounts): Pick<ClusterSummary, 'nodes' | 'shards' | 'moves' | 'waiting' | 'age_ms'> {
  return {
    nodes: { ...nodes, lost: 0 },
    shards: { ...shards, unplaced: 0, misplaced: 0 },
    moves,
    waiting: [],
    age_ms: Math.round(ageMs),
  }
}

function countConditions({ nodes }: ClusterReport): Readonly<Record<NodeCondition, number>> {
  const counts = { serving: 0, leaving: 0, emptying: 0, away: 0, lost: 0 }
  for (const node of nodes) if (!isOut(node)) counts[node.condition] += 1
  return counts
}

/** Decommissioned, gone and empty: nobody waits for it. */
function isOut({ state, condition, replicas }: NodeReport): boolean {
  return state === 'decommissioned' && condition === 'lost' && replicas === 0
}

function unreachedIn({ nodes }: ClusterReport): NonNullable<ClusterSummary['unreached']> {
  return nodes.flatMap(({ id, name, unreached: reason }) =>
    reason === undefined ? [] : [{ node: name ?? id, reason }],
  )
}

function truncatedIf(isCut: boolean): { readonly truncated?: true } {
  return isCut ? { truncated: true } : {}
}

/** Whether the move is over, or under way. */
function isMoved(
  { replicas, inSync, move }: ShardReport,
  { from, to }: { readonly from: NodeId; readonly to: NodeId },
): boolean {
  if (move !== undefined) return move.from === from && move.to === to
  return inSync.includes(to) && !replicas.includes(from)
}

function moveOf({ cause, from, to, phase, bytes }: MoveReport): ClusterMove {
  return {
    cause,
    ...(from === undefined ? {} : { from }),
    to,
    phase,
    ...(bytes === undefined ? {} : { bytes }),
  }
}

/** CU2. */
function updateOf({
  updateWaitsFor = [EARLIER],
}: NodeReport): Pick<ClusterNode, 'safe_to_update' | 'update_waits_for'> {
  if (updateWaitsFor.length === 0) return { safe_to_update: true }
  return { safe_to_update: false, update_waits_for: updateWaitsFor.join('; ') }
}

function holdOf({ untilMs, operationId }: NodeHold): NonNullable<ClusterNode['hold']> {
  const until = new Date(untilMs).toISOString()
  return { until, ...(operationId === undefined ? {} : { operation_id: operationId }) }
}

/** Since when it is there, and its disk. */
function machineOf({
  registeredAtMs: atMs,
  disk,
}: NodeReport): Pick<ClusterNode, 'registered_at' | 'disk'> {
  return {
    ...(atMs === undefined ? {} : { registered_at: new Date(atMs).toISOString() }),
    ...(disk && { disk: { total_bytes: disk.totalBytes, free_bytes: disk.freeBytes } }),
  }
}

function accepted(refusal: Refusal | undefined): void {
  if (refusal !== undefined) throw new ServiceError('CONFLICT', refusal.refused)
}

function idOf(path: ShardPath): string {
  return path.split('/')[1] ?? path
}

function unknownShard(id: string): ServiceError {
  return new ServiceError('NOT_FOUND', `no shard ${id} exists; list the shards`)
}
