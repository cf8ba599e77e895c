// A control plane over a real controller core, whose store is a counter and whose replicas obey at once:
// what operators see and ask for, without nodes. Time passes by `step` alone.

import { must } from '../../../lib/assert.ts'
import type { Commit } from '../../../node/coordination/coordination.ts'
import {
  listShards,
  reportCluster,
  type ShardQuery,
} from '../../../node/controller/core/cluster-report.ts'
import type {
  ClusterReport,
  NodeReport,
  ShardReport,
} from '../../../node/controller/core/reported-cluster.ts'
import { ControllerCore } from '../../../node/controller/core/controller-core.ts'
import type { PlannedCommit } from '../../../node/controller/core/planned-commit.ts'
import {
  requestMove,
  requestTransfer,
  type Refusal,
} from '../../../node/controller/core/operator-requests.ts'
import { requestOfNode, type NodeWish } from '../../../node/controller/core/node-requests.ts'
import type { ShardPath } from '../../../node/controller/core/records/cluster-codec.ts'
import { decodeNode, NODE_PREFIX } from '../../../node/controller/core/records/cluster-codec.ts'
import { holdLeftMs } from '../../../node/controller/core/records/node-record.ts'
import type { KnownCounts } from '../../../node/cluster/known-counts.ts'
import type { ClusterControl } from '../../../node/steering/cluster-control.ts'
import type { CollectAnswer, RecoveryAnswer } from '../../../node/steering/cluster-answers.ts'
import type { LagQuestion, ShardLags } from '../../../node/replicas/replica-lags.ts'
import {
  changedConfiguration,
  type NodeId,
  type ReplicaId,
} from '../../../node/replication/core/configuration.ts'
import type { ReplicaLag } from '../../../node/replication/core/follower-progress.ts'

const STEP_MS = 10_000
const FENCE = { key: '/cluster/controller', modRevision: 1 }

type RequestStep = Exclude<ReturnType<typeof requestMove>, Refusal>

export class SteeredCluster implements ClusterControl {
  readonly name = 'library'
  readonly core = new ControllerCore({ name: 'c', fence: FENCE })
  /** Replaces every answer by this error. */
  failure: Error | undefined
  trouble: string | undefined
  isFrozen = false
  /** What every leader says of its follower on the node. */
  readonly lagging = new Map<NodeId, ReplicaLag>()
  readonly lags = {
    ask: (question: LagQuestion) =>
      this.#lagsOf([...question.values()].flatMap((ids) => ids ?? [])),
    askAll: () => this.#lagsOf([...this.core.cluster.shards.keys()].map((path) => path.slice(-16))),
  }
  /** What a recovery was asked to leave out. */
  readonly leftOut: (readonly string[])[] = []
  isWaiting = true
  /** Replicas that belong to no table, by node. */
  readonly leftAt = new Map<NodeId, string[]>()
  readonly leftovers = {
    collect: async (node: NodeId, shards: readonly string[]): Promise<CollectAnswer> => {
      const here = this.leftAt.get(node) ?? []
      const left = here.filter((id) => !shards.includes(id))
      this.leftAt.set(node, left)
      const removed = here.filter((id) => shards.includes(id))
      return { removed, leftover_count: left.length, leftovers: left }
    },
  }
  readonly recover = async (without: readonly string[]): Promise<RecoveryAnswer> => {
    this.leftOut.push(without)
    const performed = this.isWaiting
    this.isWaiting = false
    const shard = { table_id: 't'.repeat(16), shard: 'a'.repeat(16) }
    const decided = { ...shard, epoch: 8, from: 'n1', replicas: ['n1', 'n2'], in_sync: ['n1'] }
    return {
      performed,
      recovery: 1,
      reported: performed ? ['n1', 'n2'] : [],
      shard_count: performed ? 1 : 0,
      shards: performed ? [decided] : [],
      unknown_count: performed ? 1 : 0,
      unknown: performed ? [{ ...shard, shard: 'b'.repeat(16) }] : [],
    }
  }
  #revision = 10
  #nowMs = 0

  constructor(nodes: readonly NodeId[]) {
    for (const id of nodes) this.join(id)
    this.core.listed(this.#revision)
    this.#pass()
  }

  join(id: NodeId, zone = ''): void {
    const revision = this.#next()
    const record = { id, zone, state: 'serving', incarnation: 1, operation: 'o' } as const
    this.core.observe({ kind: 'node', id, record, revision }, this.#nowMs)
    const addresses = { peer: `${id}:7400`, api: `${id}:8080` }
    const life = { incarnation: 1, version: '0.1.0', wholeSince: 1, isLeaving: false }
    const registration = { id, addresses, ...life }
    this.core.observe({ kind: 'live', id, record: registration, revision }, this.#nowMs)
  }

  leave(id: NodeId): void {
    const revision = this.#next()
    this.core.observe({ kind: 'live', id, record: undefined, revision }, this.#nowMs)
  }

  /** A shard with a replica in sync on each of the nodes, the first of which leads. */
  addShard(path: ShardPath, nodes: readonly NodeId[]): void {
    const revision = this.#next()
    const entry = { key: `/table-shards/${path}`, modRevision: revision }
    this.core.observe({ kind: 'catalog', path, entry }, this.#nowMs)
    const inSync = nodes.map((node) => ({ node, incarnation: 1 }))
    const sets = { leader: inSync[0], replicas: nodes, inSync, eligible: [] }
    const configuration = { revision, epoch: 1, ...sets, minInSync: 2, operation: 'o' }
    this.core.observe({ kind: 'configuration', path, configuration, revision }, this.#nowMs)
  }

  /** What the controller does in one round, and after it what learners do. */
  step(): void {
    this.#pass()
    for (const planned of this.core.plan(this.#nowMs)) this.#settle(planned)
    for (const { path } of this.core.cluster.shards.values()) this.#catchUp(path)
  }

  controller(): NodeId | undefined {
    return this.trouble === undefined ? 'n1' : undefined
  }

  problem(): string | undefined {
    return this.trouble
  }

  known(): KnownCounts {
    const nodes = { serving: 3, leaving: 0, emptying: 0, away: 0 }
    const shards = { total: 1, leaderless: 0, below_minimum: 0, under_replicated: 0 }
    return { ageMs: 1234.5, nodes, shards, moves: 0, isFrozen: this.isFrozen }
  }

  knownNodes(): readonly NodeReport[] {
    return reportCluster(this.core.cluster).nodes
  }

  async report(): Promise<ClusterReport> {
    this.#fail()
    return reportCluster(this.core.cluster)
  }

  async listShards(query: ShardQuery): Promise<readonly ShardReport[]> {
    this.#fail()
    return listShards(this.core.cluster, query)
  }

  async requestOfNode(wish: NodeWish): Promise<Refusal | undefined> {
    const request = { ...wish, operation: 'o', nowMs: this.#nowMs }
    const asked = requestOfNode(this.core.cluster, request)
    if ('refused' in asked) return asked
    if (asked.commit !== undefined) this.#put(asked.commit)
    this.#pass()
    return undefined
  }

  async requestMove(
    request: Parameters<ClusterControl['requestMove']>[0],
  ): Promise<Refusal | undefined> {
    return this.#carryOut(requestMove(this.core.cluster, request))
  }

  async requestTransfer(
    request: Parameters<ClusterControl['requestTransfer']>[0],
  ): Promise<Refusal | undefined> {
    return this.#carryOut(requestTransfer(this.core.cluster, request))
  }

  #carryOut(asked: RequestStep | Refusal): Refusal | undefined {
    if ('refused' in asked) return asked
    this.#settle(this.core.change(asked, this.#nowMs))
    return undefined
  }

  #put({ changes }: Commit): void {
    for (const change of changes) {
      if (change.type !== 'put') continue
      const id = change.key.slice(NODE_PREFIX.length)
      const record = decodeNode(change.value)
      const left = holdLeftMs(record, this.#nowMs)
      const seen = { id, record, revision: this.#next(), holdLeftMs: left }
      this.core.observe({ kind: 'node', ...seen }, this.#nowMs)
    }
  }

  #catchUp(path: ShardPath): void {
    const before = this.core.cluster.shards.get(path)?.known.configuration
    const isLearner = (id: NodeId): boolean =>
      before?.inSync.every(({ node }) => node !== id) === true
    const isLive = (id: NodeId): boolean => this.core.cluster.nodes.get(id)?.isLive === true
    const learner = before?.replicas.find((id) => isLearner(id) && isLive(id))
    if (before === undefined || learner === undefined) return
    const replica: ReplicaId = { node: learner, incarnation: 1 }
    const { epoch } = before
    const change = {
      operation: 'o',
      epoch,
      revision: before.revision,
      kind: 'add',
      replica,
    } as const
    const after = must(changedConfiguration(before, change), 'a replica that may be added')
    const revision = this.#next()
    const configuration = { ...after, revision }
    this.core.observe({ kind: 'configuration', path, configuration, revision }, this.#nowMs)
  }

  #settle(planned: PlannedCommit): void {
    this.core.settle(planned, { kind: 'committed', revision: this.#next() }, this.#nowMs)
  }

  #pass(): void {
    this.#nowMs += STEP_MS
    this.core.cluster.assessNodes(this.#nowMs)
  }

  #next(): number {
    this.#revision += 1
    return this.#revision
  }

  async #lagsOf(ids: readonly string[]): Promise<ReadonlyMap<string, ShardLags>> {
    return new Map(ids.map((id) => [id, this.lagging]))
  }

  #fail(): void {
    if (this.failure !== undefined) throw this.failure
  }
}
