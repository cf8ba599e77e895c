// The store over the shards of its tables. See store-service.ts for the contract.

import type { IndexDefinition } from '../index/host/index-definition.ts'
import type { IndexStatusOptions } from '../shard/following/index-health.ts'
import type { Clock } from '../../lib/clock.ts'
import type { HybridClock } from '../clock/hybrid-clock.ts'
import { runInTurn, SliceClock } from '../../lib/sliced.ts'
import type { TableFieldsDirectory } from '../shard/following/table-fields.ts'
import type { QueryRequest } from '../query/request/query-request.ts'
import {
  clusterStatusOf,
  type ClusterStatus,
  type RunningProgram,
} from '../steering/cluster-status.ts'
import type { ClusterService } from '../steering/cluster-service.ts'
import { countIndexes, type IndexCounts } from '../steering/index-summary.ts'
import { indexInfoOf } from '../catalog/answers/index-status.ts'
import type { LedShards } from '../catalog/tables/led-shards.ts'
import type { NodeHousekeeper } from './node-housekeeper.ts'
import type { ModelKeys } from '../catalog/tables/model-keys.ts'
import type { OpenTable } from '../catalog/tables/open-table.ts'
import type { QueryResult } from '../search/run/query-result.ts'
import { EventLoopTurns } from '../search/tables/event-loop-turns.ts'
import type { NearTables } from '../search/tables/near-tables.ts'
import type { QueryModels } from '../search/models/query-models.ts'
import { queriedTable } from '../search/tables/queried-tables.ts'
import { queryTable } from '../search/table-query.ts'
import { conditionsOf } from '../steering/shard-conditions.ts'
import { staleTable } from '../search/tables/stale-table.ts'
import type { StaleReads } from '../reads/stale-reads.ts'
import type { QueryOptions, StoreService } from './store-service.ts'
import type { CreateTableRequest } from '../catalog/admin/create-table-request.ts'
import type {
  CreatedIndex,
  IndexInfo,
  TableInfo,
  TableStatus,
} from '../catalog/tables/table-answers.ts'
import { nothingToDrop, unknownIndex, type TableAdmin } from '../catalog/admin/table-admin.ts'
import { fieldsNow } from '../catalog/tables/fields-now.ts'
import { indexesOf, INTERNAL_PREFIX, textIndexesOf } from '../catalog/tables/table-indexes.ts'
import { ContentsReader } from '../catalog/answers/table-contents.ts'
import { tableInfoOf, tableStatusOf } from '../catalog/answers/table-info.ts'
import type { ReplicationRules } from '../catalog/admin/table-replication.ts'
import { migrationOf } from '../catalog/answers/table-migration.ts'
import type { TableRegistry } from '../catalog/tables/table-registry.ts'
import type { KnownTables } from '../catalog/tables/known-tables.ts'
import type { TableReader } from '../reads/table-reader.ts'
import type { RequestWriter } from '../transactions/writes/request-writer.ts'

/** The opened parts of one process. The store calls them and closes none of them. */
export interface ShardedStoreOptions {
  readonly clock: Clock
  readonly hybridClock: HybridClock
  readonly registry: TableRegistry
  readonly tables: KnownTables
  readonly admin: TableAdmin
  readonly reader: TableReader
  readonly writer: RequestWriter
  readonly led: LedShards
  readonly housekeeper: Pick<NodeHousekeeper, 'retime'>
  readonly fields: TableFieldsDirectory
  /** Undefined: each shard has one replica, whose newest state is the answer to stale reads. */
  readonly stale: StaleReads | undefined
  /** Undefined: leaders answer all searches. */
  readonly near: NearTables | undefined
  /** What queries may ask models. */
  readonly models: QueryModels
  readonly keys: ModelKeys
  readonly program: RunningProgram
  readonly replication: ReplicationRules
  readonly cluster: ClusterService
}

/**
 * Serves every request of the API from the shards of its tables, here or on other nodes. `ready` is false until
 * `setReady`.
 */
export class ShardedStore implements StoreService {
  readonly #with: ShardedStoreOptions
  readonly #turns = new EventLoopTurns()
  #ready = false

  constructor(options: ShardedStoreOptions) {
    this.#with = options
  }

  setReady(): void {
    this.#ready = true
  }

  ready(): boolean {
    return this.#ready
  }

  async createTable(name: string, request: CreateTableRequest): Promise<TableInfo> {
    return this.#infoOf(await this.#with.admin.create(name, request))
  }

  async listTables({ prefix = '' }: { readonly prefix?: string }): Promise<readonly TableStatus[]> {
    const all = this.#with.tables.all()
    const wanted = all.filter(({ tableName }) => tableName.startsWith(prefix))
    const slice = new SliceClock(this.#with.clock)
    const contents = new ContentsReader(this.#with.clock)
    const statuses: TableStatus[] = []
    // One table after the other: each of a thousand may have dozens of shards to ask.
    for (const table of wanted) {
      statuses.push(await this.#statusOf(table, contents))
      if (slice.isOver) await slice.turn()
    }
    return statuses
  }

  async getTable(name: string): Promise<TableStatus> {
    const table = await this.#with.tables.learn(name)
    const reader = new ContentsReader(this.#with.clock)
    return reader.withFields(this.#statusOf(table, reader), this.#with.fields.of(table.tableId))
  }

  async #statusOf(table: OpenTable, reader: ContentsReader): Promise<TableStatus> {
    const [stats, contents] = await Promise.all([
      Promise.all(table.shards.map((shard) => shard.stats())),
      reader.read(table),
    ])
    const migration = await migrationOf(table, stats)
    return tableStatusOf(this.#infoOf(table), { stats, contents, migration })
  }

  #infoOf(table: OpenTable): TableInfo {
    return tableInfoOf(table, this.#with.replication)
  }

  async dropTable(name: string): Promise<void> {
    if (name.startsWith(INTERNAL_PREFIX)) throw nothingToDrop(`table "${name}"`)
    await this.#with.tables.learnAll([name])
    await this.#with.admin.drop(name)
  }

  async updateSchema(name: string, schema: unknown): Promise<TableInfo> {
    const before = await this.#with.tables.learn(name)
    const after = await this.#with.admin.updateSchema(name, schema)
    if (before.record.ttlGeneration !== after.record.ttlGeneration) {
      this.#with.housekeeper.retime(this.#with.led.among(after.shards))
    }
    return this.#infoOf(after)
  }

  async listIndexes(name: string): Promise<readonly IndexInfo[]> {
    const table = await this.#with.tables.learn(name)
    return Promise.all(indexesOf(table.record).map((index) => this.#indexInfo(table, index)))
  }

  async getIndex(
    name: string,
    indexName: string,
    options?: IndexStatusOptions,
  ): Promise<IndexInfo> {
    const table = await this.#with.tables.learn(name)
    const index = indexesOf(table.record).find((known) => known.name === indexName)
    if (index === undefined) throw unknownIndex(name, indexName)
    return this.#indexInfo(table, index, options)
  }

  async #indexInfo(
    table: OpenTable,
    index: IndexDefinition,
    options: IndexStatusOptions = {},
  ): Promise<IndexInfo> {
    const list = this.#with.fields.of(table.tableId)
    const fields = textIndexesOf([index]).length > 0 ? await fieldsNow(list, false) : undefined
    return indexInfoOf(table, index, { ...options, fields })
  }

  async createIndex(name: string, indexName: string, config: unknown): Promise<CreatedIndex> {
    return this.#with.admin.createIndex(
      (await this.#with.tables.learn(name)).record.name,
      indexName,
      config,
    )
  }

  async dropIndex(name: string, indexName: string): Promise<void> {
    await this.#with.admin.dropIndex((await this.#with.tables.learn(name)).record.name, indexName)
  }

  readonly batch: StoreService['batch'] = (...call) => this.#with.writer.batch(...call)
  readonly crossBatch: StoreService['crossBatch'] = (...call) =>
    this.#with.writer.crossBatch(...call)
  readonly commit: StoreService['commit'] = (...call) => this.#with.writer.commit(...call)
  readonly merge: StoreService['merge'] = (...call) => this.#with.writer.merge(...call)

  readonly lookup: StoreService['lookup'] = (...call) => this.#with.reader.lookup(...call)
  readonly lookupSpecial: StoreService['lookupSpecial'] = (...call) =>
    this.#with.reader.lookupSpecial(...call)
  readonly lookupStale: StoreService['lookupStale'] = (...call) =>
    this.#with.reader.lookupStale(...call)
  readonly scan: StoreService['scan'] = (...call) => this.#with.reader.scan(...call)
  readonly scanStale: StoreService['scanStale'] = (...call) => this.#with.reader.scanStale(...call)

  async query(name: string, request: QueryRequest, options: QueryOptions): Promise<QueryResult> {
    const { tables, reader } = this.#with
    const table = await tables.learn(name)
    const { isStale = false, signal } = options
    const queried = queriedTable(table, {
      specialOf: (projection, wanted) => reader.specialOf(table, projection, wanted),
      fieldsNow: () => reader.fieldsOf(table, isStale),
    })
    const parts = { clock: this.#with.clock, turns: this.#turns, models: this.#with.models }
    const asked = { request, ...options }
    const { stale, near } = this.#with
    if (!isStale) return queryTable(parts, near?.of(queried) ?? queried, asked)
    if (stale === undefined) return { ...(await queryTable(parts, queried, asked)), staleness: 0 }
    const { value: view, stalenessMs } = await stale.open(table.shards, signal)
    const result = await queryTable(parts, staleTable(queried, view, signal), asked)
    return { ...result, staleness: stalenessMs }
  }

  async status(): Promise<ClusterStatus> {
    const { clock, registry, cluster } = this.#with
    const tables = registry.tables()
    // Side by side: either may wait for a shard or a node that does not answer.
    const asked = [conditionsOf(tables, clock), cluster.summary(), cluster.slowest()] as const
    const [conditions, summary, lags] = await Promise.all(asked)
    const seen = { ...this.#with, tables, conditions, lags, cluster: summary, ready: this.#ready }
    return runInTurn(clusterStatusOf(seen), { clock })
  }

  indexCounts(): IndexCounts {
    return countIndexes(this.#with.registry.tables(), this.#with.led)
  }
}
