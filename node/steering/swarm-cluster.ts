// A store in swarm mode as a cluster: one node, which leads every shard and holds its only replica.

import type { Clock } from '../../lib/clock.ts'
import { ServiceError } from '../../lib/errors.ts'
import { SliceClock } from '../../lib/sliced.ts'
import type { ReplicaLag } from '../replication/core/follower-progress.ts'
import type { DiskRoom } from '../storage/disk-guard.ts'
import type { Shard, ShardCondition } from '../shard/shard.ts'
import type { ShardId } from '../shard/shard-id.ts'
import type { OpenTable } from '../catalog/tables/open-table.ts'
import type { TableRegistry } from '../catalog/tables/table-registry.ts'
import type {
  ClusterNode,
  ClusterShard,
  ClusterSummary,
  NodeList,
  ShardPage,
} from './cluster-answers.ts'
import type { ClusterService, ShardFilter } from './cluster-service.ts'

const ONLY = 'it is the only node of the store'

/** What the one node knows of itself. */
export interface SwarmClusterOptions {
  /** The id of the data directory. */
  readonly nodeId: string
  readonly version: string
  readonly registry: TableRegistry
  readonly clock: Clock
  /** The file system of the data directory. Undefined in a store that has none. */
  readonly disk?: (() => DiskRoom | undefined) | undefined
  /** How every shard of the tables is. One that does not answer counts as failed. */
  readonly conditionsOf: (
    tables: readonly OpenTable[],
  ) => Promise<ReadonlyMap<ShardId, ShardCondition>>
}

/** A shard with its table, and its place in the list of all shards. */
interface PlacedShard {
  readonly place: string
  readonly table: OpenTable
  readonly shard: Shard
}

/** Shows the one node and its shards. Steering is refused. */
export class SwarmCluster implements ClusterService {
  readonly #with: SwarmClusterOptions

  constructor(options: SwarmClusterOptions) {
    this.#with = options
  }

  async summary(): Promise<ClusterSummary> {
    const { total, failed } = await this.#count()
    return {
      mode: 'swarm',
      controller: this.#with.nodeId,
      nodes: { serving: 1, leaving: 0, emptying: 0, away: 0, lost: 0 },
      shards: {
        total,
        unplaced: 0,
        leaderless: failed,
        below_minimum: 0,
        under_replicated: 0,
        misplaced: 0,
      },
      moves: 0,
      waiting: [],
    }
  }

  async nodes(): Promise<NodeList> {
    const { nodeId, version, disk } = this.#with
    const room = disk?.()
    const { total, failed } = await this.#count()
    const node: ClusterNode = {
      id: nodeId,
      zone: '',
      state: 'serving',
      condition: 'serving',
      version,
      replicas: total,
      leaders: total - failed,
      moves_in: 0,
      moves_out: 0,
      safe_to_stop: total === 0,
      ...(total === 0 ? {} : { needed_for: ONLY }),
      safe_to_update: total === 0,
      ...(total === 0 ? {} : { update_waits_for: ONLY }),
      ...(room && { disk: { total_bytes: room.totalBytes, free_bytes: room.freeBytes } }),
    }
    return { nodes: [node] }
  }

  async shards({ table, trouble, limit, cursor = '' }: ShardFilter): Promise<ShardPage> {
    const { registry, clock, conditionsOf } = this.#with
    const tables = table === undefined ? registry.tables() : [registry.get(table)]
    const conditions = await conditionsOf(tables)
    const slice = new SliceClock(clock)
    const page: ClusterShard[] = []
    let last = cursor
    for (const placed of placesOf(tables).filter(({ place }) => place > cursor)) {
      if (slice.isOver) await slice.turn()
      const shown = this.#shown(placed, conditions.get(placed.shard.id))
      const isWanted = trouble === undefined || trouble === 'any' || trouble === shown.trouble
      if (!isWanted || (trouble === 'any' && shown.trouble === undefined)) continue
      if (page.length === limit) return { shards: page, next_cursor: last }
      page.push(shown)
      last = placed.place
    }
    return { shards: page }
  }

  async slowest(): Promise<ReadonlyMap<string, ReplicaLag>> {
    return new Map()
  }

  async steerNode(): Promise<never> {
    throw refusal('no other node could take what this one holds')
  }

  async forgetNode(): Promise<never> {
    throw refusal('the one node is this one')
  }

  async collectLeftovers(): Promise<never> {
    throw refusal('no drop happens while it is away')
  }

  async recover(): Promise<never> {
    throw refusal('it has no control plane that could go back')
  }

  async moveReplica(): Promise<never> {
    throw refusal('no other node could take a replica')
  }

  async transferLeader(): Promise<never> {
    throw refusal('no other replica could lead')
  }

  async #count(): Promise<{ readonly total: number; readonly failed: number }> {
    const conditions = await this.#with.conditionsOf(this.#with.registry.tables())
    const failed = [...conditions.values()].filter(({ kind }) => kind === 'failed')
    return { total: conditions.size, failed: failed.length }
  }

  #shown({ table, shard }: PlacedShard, condition: ShardCondition | undefined): ClusterShard {
    const { nodeId } = this.#with
    const isLed = condition?.kind !== 'failed'
    return {
      id: shard.id,
      table: table.record.name,
      epoch: 0,
      leader: isLed ? nodeId : null,
      replicas: [{ node: nodeId, role: isLed ? 'leader' : 'follower', in_sync: isLed }],
      replication_factor: 1,
      min_in_sync: 1,
      ...(condition?.kind === 'failed' ? { trouble: 'leaderless', waits: condition.reason } : {}),
    }
  }
}

/** By the ids of their tables, so that the shards of a table stand together. */
function placesOf(tables: readonly OpenTable[]): readonly PlacedShard[] {
  return tables
    .flatMap((table) =>
      table.shards.map((shard) => ({ place: `${table.tableId}.${shard.id}`, table, shard })),
    )
    .toSorted((a, b) => (a.place < b.place ? -1 : 1))
}

function refusal(why: string): ServiceError {
  const remedy = 'steering is for clusters of several nodes'
  const problem = `this store runs in swarm mode, with one node: ${why}; ${remedy}`
  return new ServiceError('INVALID_ARGUMENT', problem)
}
