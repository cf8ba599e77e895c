// The store as simply as it can be said: one map per table, one write at a time. The API tests run
// against it, and the model-based test believes it.

import { ServiceError } from '../../../lib/errors.ts'
import type { Clock } from '../../../lib/clock.ts'
import { millisOf, timestampAtMs, timestampOf } from '../../../node/clock/hybrid-clock.ts'
import type { Timestamp } from '../../../node/clock/hybrid-clock.ts'
import { buildLayout } from '../../../node/coordinator/tables/shard-layout.ts'
import {
  assertIndexName,
  BUILT_IN_TEXT_INDEX,
  chooseTextIndex,
  indexConfigOf,
  parseIndex,
  parseIndexes,
} from '../../../node/coordinator/tables/table-indexes.ts'
import type { IndexRecord } from '../../../node/coordinator/tables/table-record.ts'
import type { QueryResult } from '../../../node/coordinator/query/query-result.ts'
import { EventLoopTurns } from '../../../node/coordinator/query/event-loop-turns.ts'
import { queryTable } from '../../../node/coordinator/query/query-service.ts'
import type {
  ClusterStatus,
  CommitResult,
  CreateTableRequest,
  IndexInfo,
  IndexStatus,
  MergeFailure,
  MergeRequest,
  MergeResult,
  QueryOptions,
  ScanRequest,
  ShardInfo,
  StoredDocument,
  StoreService,
  TableInfo,
  TableStatus,
  WriteCounts,
  WriteOptions,
} from '../../../node/coordinator/store-service.ts'
import { runAtOnce } from '../../../lib/sliced.ts'
import { sameContent } from '../../../node/document/canonical-json.ts'
import { checkDocumentLimits, shownKey } from '../../../node/document/document-limits.ts'
import { parseExact, stringifyExact } from '../../../node/document/exact-json.ts'
import type { JsonObject } from '../../../node/document/exact-json.ts'
import { buildObject, isJsonObject } from '../../../node/document/json-object.ts'
import { project } from '../../../node/document/projection.ts'
import { applyTransformsSliced } from '../../../node/document/transform.ts'
import type { ReadClaim, TableWrites } from '../../../node/document/writes.ts'
import type { QueryRequest } from '../../../node/query/request/query-request.ts'
import { matchesFilter } from '../../../node/query/filter/document-filter.ts'
import { DocumentRules, expiryMsOf } from '../../../node/schema/document-rules.ts'
import { parseTableSchema } from '../../../node/schema/table-schema.ts'
import type { TableSchema } from '../../../node/schema/table-schema.ts'
import { TextShard } from './text-shard.ts'

const MERGE_RECORDS_MAX = 10_000

/** Documents by key, the key's bytes as a latin1 string: its order is the order of the bytes. */
type Documents = ReadonlyMap<string, StoredDocument>

interface Table {
  readonly name: string
  readonly description: string | undefined
  readonly shards: Readonly<Record<string, ShardInfo>>
  indexes: readonly IndexRecord[]
  schema: TableSchema | undefined
  rules: DocumentRules
  documents: Documents
}

interface Remembered {
  readonly digest: string
  readonly json: string
}

export class MemoryStoreService implements StoreService {
  readonly #clock: Clock
  readonly #turns = new EventLoopTurns()
  readonly #tables = new Map<string, Table>()
  readonly #answers = new Map<string, Remembered>()
  #last: Timestamp = timestampOf(0n)

  constructor(clock: Clock) {
    this.#clock = clock
  }

  async createTable(name: string, request: CreateTableRequest): Promise<TableInfo> {
    if (this.#tables.has(name)) {
      throw new ServiceError('ALREADY_EXISTS', `table ${name} already exists`)
    }
    const schema =
      request.schema === undefined ? undefined : parseTableSchema(request.schema, undefined)
    const table: Table = {
      name,
      description: request.description,
      shards: shardsOf(request),
      indexes: [BUILT_IN, ...parseIndexes(request.indexes)],
      schema,
      rules: new DocumentRules(schema),
      documents: new Map(),
    }
    this.#tables.set(name, table)
    return infoOf(table)
  }

  async listTables({ prefix = '' }: { prefix?: string }): Promise<readonly TableStatus[]> {
    const names = [...this.#tables.keys()].filter((name) => name.startsWith(prefix))
    return names.toSorted().map((name) => statusOf(this.#table(name)))
  }

  async getTable(name: string): Promise<TableStatus> {
    return statusOf(this.#table(name))
  }

  async dropTable(name: string): Promise<void> {
    this.#table(name)
    this.#tables.delete(name)
  }

  async updateSchema(name: string, schema: unknown): Promise<TableInfo> {
    const table = this.#table(name)
    table.schema = parseTableSchema(schema, table.schema)
    table.rules = new DocumentRules(table.schema)
    return infoOf(table)
  }

  async listIndexes(name: string): Promise<readonly IndexInfo[]> {
    const table = this.#table(name)
    return table.indexes.map((index) => indexInfoOf(table, index))
  }

  async getIndex(name: string, indexName: string): Promise<IndexInfo> {
    const found = (await this.listIndexes(name)).find(({ config }) => config.name === indexName)
    if (found === undefined) throw new ServiceError('NOT_FOUND', `no index ${indexName}`)
    return found
  }

  async createIndex(name: string, indexName: string, config: unknown): Promise<void> {
    const table = this.#table(name)
    const index = parseIndex(indexName, config)
    if (table.indexes.some((known) => known.name === indexName)) {
      throw new ServiceError('ALREADY_EXISTS', `index ${indexName} exists`)
    }
    table.indexes = [...table.indexes, index]
  }

  async dropIndex(name: string, indexName: string): Promise<void> {
    assertIndexName(indexName)
    await this.getIndex(name, indexName)
    const table = this.#table(name)
    table.indexes = table.indexes.filter((known) => known.name !== indexName)
  }

  async batch(writes: TableWrites, options: WriteOptions): Promise<WriteCounts> {
    return this.#once(options, () => {
      this.#apply([writes])
      return countsOf(writes)
    })
  }

  async crossBatch(
    writes: readonly TableWrites[],
    options: WriteOptions,
  ): Promise<Readonly<Record<string, WriteCounts>>> {
    return this.#once(options, () => {
      this.#apply(writes)
      return countsByTable(writes)
    })
  }

  async commit(
    readSet: readonly ReadClaim[],
    writes: readonly TableWrites[],
    options: WriteOptions,
  ): Promise<CommitResult> {
    return this.#once(options, (): CommitResult => {
      for (const { table } of writes) this.#table(table)
      const changed = readSet.find(({ table, key, version }) => {
        return (this.#find(this.#table(table), latin1(key))?.version ?? 0n) !== version
      })
      if (changed !== undefined) {
        const conflict = {
          table: changed.table,
          key: utf8(changed.key),
          message: 'version changed',
        }
        return { status: 'aborted', conflict }
      }
      this.#apply(writes)
      return { status: 'committed', tables: countsByTable(writes) }
    })
  }

  async merge(name: string, request: MergeRequest): Promise<MergeResult> {
    const table = this.#table(name)
    const { records, lastMergedId, dryRun } = request
    checkMerge(request)
    const last = records.at(-1)?.key
    const nothingToDo = last === undefined && lastMergedId === undefined
    const sent = new Map(records.map(({ key, json }) => [latin1(key), json]))
    const inRange = nothingToDo ? [] : this.#keysBetween(table, lastMergedId, last)
    const deletes = inRange.filter((key) => !sent.has(key)).map(bytesOf)
    const failed: MergeFailure[] = []
    const upserts = records.filter(({ key, json }) => {
      const stored = this.#find(table, latin1(key))
      if (stored !== undefined && sameContent(stored.json, json)) return false
      const problem = problemOf(() => table.rules.check(key, json))
      if (problem === undefined) return true
      failed.push({ id: utf8(key), operation: 'upsert', error: problem })
      return false
    })
    if (!dryRun) this.#apply([{ table: name, deletes, inserts: upserts, transforms: [] }])
    const from = lastMergedId === undefined ? '' : utf8(lastMergedId)
    const to = last === undefined ? from : utf8(last)
    return {
      status: 'success',
      upserted: upserts.length,
      skipped: records.length - upserts.length - failed.length,
      deleted: deletes.length,
      ...(dryRun ? { deleted_ids: deletes.map(utf8) } : {}),
      failed,
      next_cursor: to,
      key_range: { from, to },
      keys_scanned: inRange.length,
      message: messageOf(dryRun, nothingToDo),
      took: 0,
    }
  }

  lookup(name: string, key: Buffer): StoredDocument | undefined {
    return this.#find(this.#table(name), latin1(key))
  }

  async scan(
    name: string,
    request: ScanRequest,
    _signal: AbortSignal,
  ): Promise<AsyncIterable<Buffer>> {
    const table = this.#table(name)
    const { from, to } = request
    if (from !== undefined && to !== undefined && from.compare(to) > 0) {
      throw new ServiceError('INVALID_ARGUMENT', 'from is greater than to; swap them')
    }
    const lines = this.#visible(table)
      .filter(([key]) => isWithin(bytesOf(key), request))
      .filter(([key, { json }]) => passes(request, bytesOf(key), json))
      .slice(0, request.limit ?? Infinity)
      .map(([key, { json }]) => lineOf(bytesOf(key), json, request))
    return pagesOf(lines)
  }

  /** Over a shard made for the occasion, so that contract tests see real answers. */
  async query(name: string, request: QueryRequest, options: QueryOptions): Promise<QueryResult> {
    const table = this.#table(name)
    const documents = [...this.#visible(table)].map(([key, { json }]) => {
      return [Buffer.from(key, 'latin1').toString(), documentOf(json)] as const
    })
    const shard = new TextShard(Object.fromEntries(documents), table.schema)
    const textIndex = chooseTextIndex(name, table.indexes, request.textIndex)
    const queried = { name, schema: table.schema, textIndex }
    const target = { ...queried, shards: [shard], shardOf: () => shard }
    return queryTable({ clock: this.#clock, turns: this.#turns }, target, { request, ...options })
  }

  async status(): Promise<ClusterStatus> {
    const shards = [...this.#tables.values()].flatMap(({ name, shards: own }) =>
      Object.keys(own).map((id) => [
        `${name}-${id}`,
        { table: name, state: 'serving', message: '', pending_intents: 0 } as const,
      ]),
    )
    return {
      health: 'healthy',
      message: 'all shards are serving',
      auth_enabled: false,
      swarm_mode: true,
      version: '0.0.0',
      tables: this.#tables.size,
      shards: Object.fromEntries(shards),
    }
  }

  ready(): boolean {
    return true
  }

  #table(name: string): Table {
    const table = this.#tables.get(name)
    if (table === undefined) throw new ServiceError('NOT_FOUND', `no table ${name}`)
    return table
  }

  /** All of it or nothing: every table is computed before the first one is replaced. */
  #apply(writes: readonly TableWrites[]): void {
    const version = this.#nextVersion()
    const changed = writes.map((one) => {
      const table = this.#table(one.table)
      return { table, documents: this.#written(table, one, version) }
    })
    this.#last = version
    for (const { table, documents } of changed) table.documents = documents
  }

  #written(table: Table, writes: TableWrites, version: Timestamp): Documents {
    const documents = new Map(this.#visible(table))
    for (const key of writes.deletes) documents.delete(latin1(key))
    for (const { key, json } of writes.inserts) {
      documents.set(latin1(key), { version, json: table.rules.check(key, json).json })
    }
    for (const transform of writes.transforms) {
      const { key } = transform
      const stored = documents.get(latin1(key))
      const json = runAtOnce(applyTransformsSliced(stored?.json, [transform], millisOf(version)))
      if (json === undefined) continue
      runAtOnce(checkDocumentLimits(json))
      documents.set(latin1(key), { version, json: table.rules.check(key, json).json })
    }
    return documents
  }

  #nextVersion(): Timestamp {
    const now = timestampAtMs(this.#clock.nowMs())
    return now > this.#last ? now : timestampOf(this.#last + 1n)
  }

  /** A retry with the same Idempotency-Key gets the first answer. A refused request is forgotten. */
  #once<Result>({ idempotency }: WriteOptions, run: () => Result): Result {
    if (idempotency === undefined) return run()
    const { key, digest } = idempotency
    const before = this.#answers.get(key)
    if (before === undefined) {
      const result = run()
      this.#answers.set(key, { digest, json: JSON.stringify(result) })
      return result
    }
    if (before.digest === digest) {
      const earlier: Result = JSON.parse(before.json) // an equal digest is an equal operation
      return earlier
    }
    throw new ServiceError(
      'IDEMPOTENCY_MISMATCH',
      'Idempotency-Key was used for a different request; choose a new one',
    )
  }

  #find(table: Table, key: string): StoredDocument | undefined {
    const stored = table.documents.get(key)
    return stored !== undefined && this.#isAlive(table, stored) ? stored : undefined
  }

  #visible(table: Table): [string, StoredDocument][] {
    return [...table.documents]
      .filter(([, stored]) => this.#isAlive(table, stored))
      .toSorted(([left], [right]) => (left < right ? -1 : 1))
  }

  #isAlive({ rules: { ttl } }: Table, { json, version }: StoredDocument): boolean {
    if (ttl === undefined) return true
    const expiryMs = expiryMsOf(documentOf(json), ttl, millisOf(version))
    return expiryMs === undefined || expiryMs > this.#clock.nowMs()
  }

  #keysBetween(table: Table, after: Buffer | undefined, last: Buffer | undefined): string[] {
    const keys = this.#visible(table).map(([key]) => key)
    const isAfter = (key: string) => after === undefined || key > latin1(after)
    const isBefore = (key: string) => last === undefined || key <= latin1(last)
    return keys.filter((key) => isAfter(key) && isBefore(key))
  }
}

function latin1(key: Buffer): string {
  return key.toString('latin1')
}

function bytesOf(key: string): Buffer {
  return Buffer.from(key, 'latin1')
}

function utf8(key: Buffer): string {
  return key.toString('utf8')
}

function documentOf(json: Buffer): JsonObject {
  const document = parseExact(json)
  if (!isJsonObject(document)) throw new Error('a stored document is not an object')
  return document
}

const BUILT_IN: IndexRecord = { name: BUILT_IN_TEXT_INDEX, type: 'full_text', memOnly: false }

/** Everything is indexed at once here. */
function indexInfoOf({ documents, shards }: Table, index: IndexRecord): IndexInfo {
  const status: IndexStatus = {
    index_type: index.type,
    total_indexed: documents.size,
    disk_usage: 0,
    rebuilding: false,
    backfill_progress: 1,
    backfill_items_processed: 0,
    error: '',
    documents_set_aside: 0,
    dropped_values: { bad_values: 0, over_limit: 0, fields: {} },
  }
  const shardStatus = Object.keys(shards).map((id) => [id, status] as const)
  return { config: indexConfigOf(index), status, shard_status: Object.fromEntries(shardStatus) }
}

function infoOf({ name, description, shards, indexes, schema }: Table): TableInfo {
  return {
    name,
    ...(description === undefined ? {} : { description }),
    indexes: Object.fromEntries(indexes.map((index) => [index.name, indexConfigOf(index)])),
    shards,
    ...(schema === undefined ? {} : { schema }),
  }
}

function statusOf(table: Table): TableStatus {
  const bytes = [...table.documents.values()].reduce((sum, { json }) => sum + json.length, 0)
  const storage = { disk_usage: bytes, empty: table.documents.size === 0 }
  return { ...infoOf(table), storage_status: storage }
}

function shardsOf(request: CreateTableRequest): Readonly<Record<string, ShardInfo>> {
  const ranges = buildLayout({ numShards: request.num_shards, splitKeys: request.split_keys })
  const shards = ranges.map(({ start, end }, i): [string, ShardInfo] => [
    (i + 1).toString(16),
    { byte_range: [start.toString('base64'), end?.toString('base64') ?? '/w=='] },
  ])
  return Object.fromEntries(shards)
}

function countsOf({ inserts, deletes, transforms }: TableWrites): WriteCounts {
  return { inserted: inserts.length, deleted: deletes.length, transformed: transforms.length }
}

function countsByTable(writes: readonly TableWrites[]): Readonly<Record<string, WriteCounts>> {
  return Object.fromEntries(writes.map((one) => [one.table, countsOf(one)]))
}

function checkMerge({ records, lastMergedId }: MergeRequest): void {
  if (records.length > MERGE_RECORDS_MAX) {
    const problem = `records: at most ${MERGE_RECORDS_MAX} are allowed; send smaller pages`
    throw new ServiceError('INVALID_ARGUMENT', problem)
  }
  const first = records[0]
  if (first === undefined || lastMergedId === undefined) return
  if (lastMergedId.compare(first.key) < 0) return
  throw new ServiceError(
    'INVALID_ARGUMENT',
    `last_merged_id is not less than the first record ${shownKey(utf8(first.key))}`,
  )
}

function messageOf(dryRun: boolean, nothingToDo: boolean): string {
  if (nothingToDo) return 'nothing to do: no records and no last_merged_id'
  return dryRun ? 'dry run: nothing was changed' : ''
}

function problemOf(run: () => unknown): string | undefined {
  try {
    run()
    return undefined
  } catch (error) {
    if (error instanceof ServiceError) return error.message
    throw error
  }
}

function isWithin(key: Buffer, { from, to, inclusiveFrom, exclusiveTo }: ScanRequest): boolean {
  const above = from === undefined ? 1 : key.compare(from)
  const below = to === undefined ? -1 : key.compare(to)
  return (inclusiveFrom ? above >= 0 : above > 0) && (exclusiveTo ? below < 0 : below <= 0)
}

function passes({ filter }: ScanRequest, key: Buffer, json: Buffer): boolean {
  return filter === undefined || matchesFilter(filter, documentOf(json), key)
}

/** The key comes first and wins over a field of the same name. */
function lineOf(key: Buffer, json: Buffer, { projection }: ScanRequest): Buffer {
  const fields = projection === undefined ? {} : project(documentOf(json), projection)
  const others = Object.entries(fields).filter(([name]) => name !== 'key')
  return Buffer.from(`${stringifyExact(buildObject([['key', utf8(key)], ...others]))}\n`)
}

async function* pagesOf(lines: readonly Buffer[]): AsyncGenerator<Buffer> {
  for (const line of lines) yield line
}
