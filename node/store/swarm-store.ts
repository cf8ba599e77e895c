// The store in one process. See store-service.ts for the contract.

import type { IndexDefinition } from '../index/host/index-definition.ts'
import type { IndexStatusOptions } from '../shard/following/index-health.ts'
import { InvariantError } from '../../lib/assert.ts'
import type { Clock } from '../../lib/clock.ts'
import type { HybridClock } from '../clock/hybrid-clock.ts'
import { runInTurn, SliceClock, type Sliced } from '../../lib/sliced.ts'
import type { Projection } from '../document/projection.ts'
import { DocumentTester } from '../index/text/documents/document-tester.ts'
import { NO_CONDITIONS } from '../index/text/search/text-search.ts'
import type { TableField } from '../schema/table-field.ts'
import type { TableFieldsDirectory } from '../shard/following/table-fields.ts'
import type { ReadClaim, TableWrites } from '../document/writes.ts'
import { keysOf } from '../query/query-fields.ts'
import type { QueryRequest } from '../query/request/query-request.ts'
import { jsonOf, versionOf, type DocumentRecord } from '../shard/format/document-record.ts'
import {
  clusterStatusOf,
  type ClusterStatus,
  type RunningProgram,
} from '../steering/cluster-status.ts'
import type { ClusterService } from '../steering/cluster-service.ts'
import type { Idempotency } from '../transactions/idempotency.ts'
import { countIndexes, type IndexCounts } from '../steering/index-summary.ts'
import type { ReadPins } from '../reads/read-pins.ts'
import { indexInfoOf } from '../catalog/answers/index-status.ts'
import { waitForIndexes, waitsForIndexes } from '../catalog/answers/index-wait.ts'
import type { LedShards } from '../catalog/tables/led-shards.ts'
import { mergePage, type LinearMergeOptions } from '../transactions/writes/linear-merge.ts'
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
import { scanLines } from '../reads/scan-lines.ts'
import { SpecialReader } from '../reads/special/special-reader.ts'
import { staleTable } from '../search/tables/stale-table.ts'
import type { Aged, StaleReads } from '../reads/stale-reads.ts'
import type { MergeRequest, MergeResult } from '../transactions/writes/linear-merge-request.ts'
import type { ScanCallOptions, ScanRequest } from '../reads/scan-request.ts'
import type {
  CommitResult,
  QueryOptions,
  StoredDocument,
  StoreService,
  WriteCounts,
} from './store-service.ts'
import type { WriteOptions } from '../transactions/write-options.ts'
import type { CreateTableRequest } from '../catalog/admin/create-table-request.ts'
import type {
  CreatedIndex,
  IndexInfo,
  TableInfo,
  TableStatus,
} from '../catalog/tables/table-answers.ts'
import { nothingToDrop, unknownIndex, type TableAdmin } from '../catalog/admin/table-admin.ts'
import { fieldsFor, fieldsNow } from '../catalog/tables/fields-now.ts'
import { indexesOf, INTERNAL_PREFIX, textIndexesOf } from '../catalog/tables/table-indexes.ts'
import { ContentsReader } from '../catalog/answers/table-contents.ts'
import { tableInfoOf, tableStatusOf } from '../catalog/answers/table-info.ts'
import type { ReplicationRules } from '../catalog/admin/table-replication.ts'
import { migrationOf } from '../catalog/answers/table-migration.ts'
import { unknownTable, type TableRegistry } from '../catalog/tables/table-registry.ts'
import { intersectRanges } from '../shard/command/key-range.ts'
import { keyRangeOf, pinned, scanTable } from '../reads/table-scan.ts'
import { PartCollector } from '../transactions/transaction-part.ts'
import type { RunOutcome, TransactionConflict } from '../transactions/run-outcome.ts'
import type { EnrichedWriter, WriteRunOptions } from '../transactions/writes/enriched-writer.ts'
import type { RunOptions } from '../transactions/transaction-runner.ts'

/** The opened parts of one process. The store calls them and closes none of them. */
export interface SwarmStoreOptions {
  readonly clock: Clock
  readonly hybridClock: HybridClock
  readonly registry: TableRegistry
  readonly admin: TableAdmin
  readonly writer: EnrichedWriter
  readonly idempotency: Idempotency
  readonly led: LedShards
  readonly housekeeper: NodeHousekeeper
  readonly pins: ReadPins
  /** What the fields of tables mean, for filters that no index answers. */
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
  /**
   * Opens a table of that name if there is one that this node has not heard of. Undefined: this node knows
   * every table.
   */
  readonly learnTable?: ((name: string) => Promise<void>) | undefined
}

/** A request that writes. `answer` is the answer of a commit, `answerOf` makes that of a conflict. */
interface Transacted<Answer> {
  readonly collect: () => Sliced<PartCollector>
  readonly writes: readonly TableWrites[]
  readonly readSet: readonly ReadClaim[]
  readonly onContention: RunOptions['onContention']
  readonly answer: Answer
  readonly answerOf: (conflict: TransactionConflict) => Answer
}

/**
 * Serves every request of the API from the shards of this process. `ready` is false until
 * `setReady`.
 */
export class SwarmStore implements StoreService {
  readonly #with: SwarmStoreOptions
  readonly #turns = new EventLoopTurns()
  #ready = false

  constructor(options: SwarmStoreOptions) {
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
    const named = this.#with.registry
      .tables()
      .filter(({ record }) => record.name.startsWith(prefix))
    const wanted = named.filter(({ record }) => !record.name.startsWith(INTERNAL_PREFIX))
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
    const table = await this.#known(name)
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
    await this.#learn([name])
    await this.#with.admin.drop(name)
  }

  async updateSchema(name: string, schema: unknown): Promise<TableInfo> {
    const before = await this.#known(name)
    const after = await this.#with.admin.updateSchema(name, schema)
    if (before.record.ttlGeneration !== after.record.ttlGeneration) {
      this.#with.housekeeper.retime(this.#with.led.among(after.shards))
    }
    return this.#infoOf(after)
  }

  async listIndexes(name: string): Promise<readonly IndexInfo[]> {
    const table = await this.#known(name)
    return Promise.all(indexesOf(table.record).map((index) => this.#indexInfo(table, index)))
  }

  async getIndex(
    name: string,
    indexName: string,
    options?: IndexStatusOptions,
  ): Promise<IndexInfo> {
    const table = await this.#known(name)
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
    return this.#with.admin.createIndex((await this.#known(name)).record.name, indexName, config)
  }

  async dropIndex(name: string, indexName: string): Promise<void> {
    await this.#with.admin.dropIndex((await this.#known(name)).record.name, indexName)
  }

  batch(writes: TableWrites, options: WriteOptions): Promise<WriteCounts> {
    return this.#writeAll([writes], countsOf(writes), options)
  }

  crossBatch(
    writes: readonly TableWrites[],
    options: WriteOptions,
  ): Promise<Readonly<Record<string, WriteCounts>>> {
    return this.#writeAll(writes, countsByTable(writes), options)
  }

  commit(
    readSet: readonly ReadClaim[],
    writes: readonly TableWrites[],
    options: WriteOptions,
  ): Promise<CommitResult> {
    return this.#transact<CommitResult>(options, {
      collect: () => this.#collect(readSet, writes),
      writes,
      readSet,
      onContention: 'refuse',
      answer: { status: 'committed', tables: countsByTable(writes) },
      answerOf: abortedBy,
    })
  }

  async merge(name: string, request: MergeRequest): Promise<MergeResult> {
    const { clock, writer, pins } = this.#with
    const { signal = new AbortController().signal } = request.options
    const scan: LinearMergeOptions['scan'] = (one, range) =>
      scanTable(pins, { table: one, range, signal })
    const table = this.#find(name) ?? (await this.#known(name))
    const result = await mergePage({ clock, writer, scan }, table, request)
    if (!request.dryRun) await waitForIndexes(clock, table.shards, request.options)
    return result
  }

  lookup(name: string, key: Buffer): LookedUp | Promise<LookedUp> {
    const table = this.#find(name)
    if (table === undefined) return this.#known(name).then((known) => lookUp(known, key))
    return lookUp(table, key)
  }

  async lookupStale(name: string, key: Buffer): Promise<Aged<LookedUp>> {
    const { stale } = this.#with
    if (stale === undefined) return { value: await this.lookup(name, key), stalenessMs: 0 }
    const found = await stale.lookup(this.#table(name).shardOf(key), key)
    return { ...found, value: storedOf(found.value) }
  }

  async scanStale(
    name: string,
    request: ScanRequest,
    { signal, memory }: ScanCallOptions,
  ): Promise<Aged<AsyncIterable<Buffer>>> {
    const { stale, clock, pins } = this.#with
    const range = keyRangeOf(request)
    const met = this.#table(name).shards.filter((one) => intersectRanges(range, one.range))
    if (stale === undefined || met.length === 0) {
      return { value: await this.scan(name, request, { signal, memory }), stalenessMs: 0 }
    }
    const { value: view, stalenessMs } = await stale.open(met, signal)
    const special = this.#specialOf(this.#table(name), signal)
    const tester = await this.#testerOf(this.#table(name), request.filter, true)
    const scanned = { range, keys: request.filter && keysOf(request.filter), signal }
    const pages = pinned(pins, { shards: met, at: view.at }, view.scan(scanned))
    return { value: scanLines(pages, request, { clock, special, tester, memory }), stalenessMs }
  }

  async scan(
    name: string,
    request: ScanRequest,
    { signal, memory }: ScanCallOptions,
  ): Promise<AsyncIterable<Buffer>> {
    const table = this.#find(name) ?? (await this.#known(name))
    const range = keyRangeOf(request)
    const tester = await this.#testerOf(table, request.filter)
    const keys = request.filter && keysOf(request.filter)
    const pages = scanTable(this.#with.pins, { table, range, keys, signal })
    const special = this.#specialOf(table, signal)
    return scanLines(pages, request, { clock: this.#with.clock, special, tester, memory })
  }

  async #testerOf(
    table: OpenTable,
    filter: ScanRequest['filter'],
    isStale = false,
  ): Promise<DocumentTester | undefined> {
    if (filter === undefined) return undefined
    const tested = { schema: table.schema, fields: await this.#fieldsOf(table, isStale) }
    const opening = DocumentTester.open(tested, { ...NO_CONDITIONS, filter })
    return runInTurn(opening, { clock: this.#with.clock })
  }

  #fieldsOf({ tableId, indexes }: OpenTable, isStale: boolean): Promise<readonly TableField[]> {
    const isIndexed = textIndexesOf(indexes).length > 0
    const wanted = { isIndexed, isStale, clock: this.#with.clock }
    return fieldsFor(this.#with.fields.of(tableId), wanted)
  }

  /** The artifacts are the newest: the leaders of the shards answer for them. */
  #specialOf(
    table: OpenTable,
    signal: AbortSignal | undefined,
  ): (projection: Projection) => SpecialReader {
    const { clock } = this.#with
    return (projection) => new SpecialReader({ clock, table, projection, signal })
  }

  async lookupSpecial(name: string, key: Buffer, projection: Projection): Promise<string> {
    const table = this.#find(name) ?? (await this.#known(name))
    const [special = '{}'] = await this.#specialOf(table, undefined)(projection).read([key])
    return special
  }

  async query(name: string, request: QueryRequest, options: QueryOptions): Promise<QueryResult> {
    const table = this.#find(name) ?? (await this.#known(name))
    const { isStale = false, signal } = options
    const queried = queriedTable(table, {
      specialOf: (projection, wanted) => this.#specialOf(table, wanted)(projection),
      fieldsNow: () => this.#fieldsOf(table, isStale),
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

  #writeAll<Answer>(
    writes: readonly TableWrites[],
    answer: Answer,
    options: WriteOptions,
  ): Promise<Answer> {
    return this.#transact(options, {
      collect: () => this.#collect([], writes),
      writes,
      readSet: [],
      onContention: 'wait',
      answer,
      answerOf: neverInConflict, // without a read set there is nothing that could conflict
    })
  }

  async #transact<Answer>(options: WriteOptions, request: Transacted<Answer>): Promise<Answer> {
    const { clock, writer, idempotency } = this.#with
    const { signal } = options
    const { writes, readSet, answer, answerOf } = request
    const learning = this.#learn([...writes, ...readSet].map(({ table }) => table))
    if (learning !== undefined) await learning
    const runOptions = runOptionsOf(options, request.onContention)
    let collector: PartCollector | undefined
    const collect = (): PartCollector | Promise<PartCollector> =>
      runInTurn(request.collect(), { clock, signal })
    const run = (collected: PartCollector): Promise<RunOutcome> => {
      collector = collected
      return writer.run(collected.parts, runOptions)
    }
    if (options.idempotency === undefined) {
      const collected = collect()
      const outcome = await run(collected instanceof Promise ? await collected : collected)
      if (outcome.kind !== 'committed') return answerOf(outcome)
      if (waitsForIndexes(options)) await this.#searchable(writes, collector, options)
      return answer
    }
    const once = { ...options.idempotency, collect, run, answer, answerOf, signal }
    const first = await idempotency.once<Answer>(once)
    await this.#searchable(writes, collector, options)
    return first
  }

  /**
   * Waits until the written shards show the write to searches. Without a collector an earlier request
   * of the same Idempotency-Key has written; then this waits for all shards of its tables.
   */
  #searchable(
    writes: readonly TableWrites[],
    collector: PartCollector | undefined,
    options: WriteOptions,
  ): Promise<void> {
    const written =
      collector === undefined
        ? writes.flatMap(({ table }) => this.#with.registry.find(table)?.shards ?? [])
        : collector.parts.filter(({ ops }) => ops.length > 0).map(({ shard }) => shard)
    return waitForIndexes(this.#with.clock, written, options)
  }

  *#collect(readSet: readonly ReadClaim[], writes: readonly TableWrites[]): Sliced<PartCollector> {
    const collector = new PartCollector()
    const tables = writes.map(({ table }) => this.#table(table)) // unknown ones before any work
    if (readSet.length > 0) yield* collector.addClaims(readSet, (name) => this.#table(name))
    for (const [i, one] of writes.entries()) {
      const table = tables[i]
      if (table !== undefined) yield* collector.addWrites(table, one)
    }
    return collector
  }

  /** Opens those of the tables that the catalog has and this node does not know yet. */
  #learn(names: readonly string[]): Promise<unknown> | undefined {
    const { registry, learnTable } = this.#with
    if (learnTable === undefined) return undefined
    const unknown = new Set(names.filter((name) => registry.find(name) === undefined))
    return unknown.size === 0 ? undefined : Promise.all([...unknown].map(learnTable))
  }

  #find(name: string): OpenTable | undefined {
    return name.startsWith(INTERNAL_PREFIX) ? undefined : this.#with.registry.find(name)
  }

  /** Rejects with NOT_FOUND when no node has created the table. */
  async #known(name: string): Promise<OpenTable> {
    if (this.#find(name) === undefined) await this.#learn([name])
    return this.#table(name)
  }

  #table(name: string): OpenTable {
    if (name.startsWith(INTERNAL_PREFIX)) throw unknownTable(name)
    return this.#with.registry.get(name)
  }
}

type LookedUp = StoredDocument | undefined

function lookUp(table: OpenTable, key: Buffer): LookedUp | Promise<LookedUp> {
  const found = table.shardOf(key).read(key)
  return found instanceof Promise ? found.then(storedOf) : storedOf(found)
}

function abortedBy({ table, key, message }: TransactionConflict): CommitResult {
  return { status: 'aborted', conflict: { table, key: key.toString(), message } }
}

function neverInConflict({ message }: TransactionConflict): never {
  throw new InvariantError(`a write without a read set was in conflict: ${message}`)
}

function storedOf(record: DocumentRecord | undefined): LookedUp {
  return record === undefined ? undefined : { version: versionOf(record), json: jsonOf(record) }
}

function countsOf({ inserts, deletes, transforms }: TableWrites): WriteCounts {
  return { inserted: inserts.length, deleted: deletes.length, transformed: transforms.length }
}

function countsByTable(writes: readonly TableWrites[]): Readonly<Record<string, WriteCounts>> {
  return Object.fromEntries(writes.map((one) => [one.table, countsOf(one)]))
}

function runOptionsOf(
  { syncLevel, signal }: WriteOptions,
  onContention: RunOptions['onContention'],
): WriteRunOptions {
  const awaitResolution = syncLevel !== 'propose'
  return { onContention, awaitResolution, syncLevel, ...(signal === undefined ? {} : { signal }) }
}
