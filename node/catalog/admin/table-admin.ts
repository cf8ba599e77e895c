// Creating, changing and dropping tables, and opening them at the start.
//
// Invariants:
//   A1  A table is found by name only while its record says `ready` and its shards are open.
//   A2  Stores are removed only while the record says `dropping`, and after every transaction that
//       the table anchors has told its outcome to the other tables. The record goes last, so a store
//       without a record was not made here, and nobody removes it.
//   A3  Whatever a crash or a failure leaves half done is finished by `openAll` and `repair`: a table
//       that is `creating` is completed, one that is `dropping` is dropped.
//   A4  At most one piece of work changes a table's state at a time (`#working`), and changes of its
//       schema and indexes follow each other (`#changing`). A drop waits for other work on its table; a
//       second drop is refused with NOT_FOUND.
//   A5  A table is not dropped while another one waits for the outcome of a transaction whose record
//       lies in a shard of it that failed: no node could learn that outcome then.

import { isServiceError, ServiceError } from '../../../lib/errors.ts'
import type { Clock } from '../../../lib/clock.ts'
import type { Log } from '../../../lib/log.ts'
import { runSliced } from '../../../lib/sliced.ts'
import {
  readTableSchema,
  withVersion,
  type SchemaRequest,
  type TableSchema,
} from '../../schema/table-schema.ts'
import type { IndexDefinition } from '../../index/host/index-definition.ts'
import type { Shard } from '../../shard/shard.ts'
import { parseShardId, type ShardId } from '../../shard/shard-id.ts'
import { TABLE_EXISTS, type Catalog } from '../records/catalog.ts'
import { OpenTable } from '../tables/open-table.ts'
import { buildLayout } from '../records/shard-layout.ts'
import type { CreatedIndex } from '../tables/table-answers.ts'
import type { CompleteIndex } from './managed-indexes.ts'
import type { ModelKeys } from '../tables/model-keys.ts'
import type { CreateTableRequest } from './create-table-request.ts'
import {
  assertIndexName,
  indexConfigOf,
  INTERNAL_PREFIX,
  parseIndex,
  parseIndexes,
  withIndex,
  withoutIndex,
} from '../tables/table-indexes.ts'
import type { CatalogTable, TableRecord } from '../records/table-record.ts'
import { parseReplication, type ReplicationRules } from './table-replication.ts'
import { NotServed, type TableShards } from '../tables/table-shards.ts'
import { unknownTable, type TableRegistry } from '../tables/table-registry.ts'

/**
 * The shards of a new table that are created, or awaited, at once. A cluster asks the nodes again and again for a shard
 * that has no leader yet, so a table of many shards would keep them busy with questions.
 */
const SHARDS_AT_ONCE = 32
const NAME = /^[A-Za-z0-9][A-Za-z0-9._-]{0,254}$/
export const TABLES_MAX = 1000

/**
 * What the administration of tables works with. `host` opens the shards, `catalog` keeps the
 * records.
 */
export interface TableAdminOptions {
  readonly clock: Clock
  readonly catalog: Catalog
  readonly registry: TableRegistry
  readonly host: TableShards
  readonly log: Log
  /** 64 random bits as 16 hexadecimal digits. */
  readonly randomBits: () => string
  readonly replication: ReplicationRules
  readonly completeIndex: CompleteIndex
  readonly keys: ModelKeys
  /** Absent: any number of shards may be opened, and nobody hears of it. */
  readonly process?: ProcessParts | undefined
}

/**
 * The files of shards. `admit` throws UNAVAILABLE when a new table of `shards` shards would exhaust them, and `admitStart`
 * an error for the operator when the tables of the catalog would.
 */
export interface ShardFiles {
  admit(shards: number): void
  admitStart(shards: number): void
}

/** What the process around the tables has to do with them. */
export interface ProcessParts {
  readonly files: ShardFiles
  /** Hears of each table that a start has opened. */
  readonly onProgress: (progress: StartProgress) => void
}

/** The tables of the catalog, and how many of them serve. */
export interface StartProgress {
  readonly total: number
  readonly opened: number
}

/**
 * Creates, changes and drops the tables of this node. A refusal is a ServiceError and names the
 * table.
 */
export class TableAdmin {
  readonly #with: TableAdminOptions
  #progress: StartProgress = { total: 0, opened: 0 }
  /** The work on tables that are being created or dropped right now, by their ids. */
  readonly #working = new Map<string, Promise<unknown>>()
  /** Ids of the tables of which a drop was asked for and has not ended. */
  readonly #dropping = new Set<string>()
  #changing: Promise<unknown> = Promise.resolve()

  constructor(options: TableAdminOptions) {
    this.#with = options
  }

  #begins(tables: number): void {
    this.#progress = { total: tables, opened: 0 }
    this.#with.process?.onProgress(this.#progress)
  }

  #opened(): void {
    const { total, opened } = this.#progress
    this.#progress = { total, opened: opened + 1 }
    this.#with.process?.onProgress(this.#progress)
  }

  /** Opens every table of the catalog and finishes what a crash interrupted. */
  async openAll(): Promise<void> {
    const { catalog, registry, host } = this.#with
    await catalog.convert()
    await catalog.clean(Infinity) // this process is the only one
    const tables = await catalog.list()
    const kept = tables.filter(({ record }) => record.state !== 'creating')
    this.#begins(tables.length)
    this.#with.process?.files.admitStart(tables.reduce((sum, { shards }) => sum + shards.length, 0))
    using scope = new DisposableStack()
    const ids = kept.flatMap(({ shards }) => shards.map(({ id }) => id))
    scope.use(await host.startTogether(ids))
    // All at once: each waits until the journal has been read for all of them, and the host opens few stores at once.
    await Promise.all(
      kept.map(async (table) => {
        registry.set(await this.#open(table))
        this.#opened()
      }),
    )
    for (const table of tables) {
      if (table.record.state !== 'creating') continue
      await this.#complete(table)
      this.#opened()
    }
  }

  /**
   * Takes up creations and drops that failed midway (a full disk, a shard that does not answer), and
   * leaves to the next round what still cannot be done.
   */
  async repair(): Promise<void> {
    await this.#with.catalog.clean(this.#with.clock.monotonicMs())
    for (const { record } of await this.#with.catalog.list()) {
      if (record.state === 'ready' || this.#isBusy(record)) continue
      try {
        await this.#alone(record, () => this.#repairOne(record))
      } catch (error) {
        if (!isServiceError(error)) throw error
        const fields = { table: record.name, state: record.state, error: error.message }
        this.#with.log.warn('table not repaired', fields)
      }
    }
  }

  /** The record is read again: somebody may have ended the work since it was listed. */
  async #repairOne(listed: TableRecord): Promise<void> {
    const table = await this.#with.catalog.find(listed)
    if (table?.record.state === 'creating') await this.#complete(table)
    else if (table?.record.state === 'dropping') await this.#finishDrop(await this.#open(table))
  }

  async create(name: string, request: CreateTableRequest): Promise<OpenTable> {
    assertTableName(name)
    const tables = this.#with.registry.tables().filter(({ record }) => !isInternal(record))
    if (tables.length >= TABLES_MAX && this.#with.registry.find(name) === undefined) {
      throw new ServiceError(
        'INVALID_ARGUMENT',
        `a cluster holds at most ${TABLES_MAX} tables; drop one first`,
      )
    }
    return this.createUnchecked(name, request)
  }

  /** Without the rules on names and numbers, for the product's own tables. */
  async createUnchecked(name: string, request: CreateTableRequest): Promise<OpenTable> {
    const { registry, catalog } = this.#with
    if (registry.find(name) !== undefined) {
      throw new ServiceError('ALREADY_EXISTS', `table "${name}" ${TABLE_EXISTS}`)
    }
    const table = await this.#buildTable(name, request)
    this.#with.process?.files.admit(table.shards.length)
    return this.#alone(table.record, async () => {
      await catalog.create(table)
      const created = await this.#complete(table).catch((error: unknown) =>
        this.#undo(table, error),
      )
      await this.#with.host.announce(name)
      return created
    })
  }

  /**
   * A table that nobody serves goes again, so that its name is free when the cause is mended. Another node may have
   * completed it meanwhile: then the table stays, and the caller hears that the outcome is unknown.
   */
  async #undo({ record }: CatalogTable, cause: unknown): Promise<never> {
    if (!(cause instanceof NotServed)) throw cause
    const { catalog, registry } = this.#with
    const undone = await catalog.update(record, (current) =>
      current.state === 'creating' ? { ...current, state: 'dropping' } : current,
    )
    if (undone.state !== 'dropping') throw cause
    // No node writes to a table that was never ready, so no transaction has to end.
    registry.remove(undone)
    await catalog.remove(undone)
    const message = `${cause.message}; the table was not created`
    throw new ServiceError('UNAVAILABLE', message, { cause })
  }

  async updateSchema(name: string, value: unknown): Promise<OpenTable> {
    const schema = await this.#readSchema(value)
    return this.#change(name, (current) => withSchema(current, schema))
  }

  /** In turns with everything else, because a large schema takes long to check. */
  #readSchema(value: unknown): Promise<SchemaRequest> {
    return runSliced(readTableSchema(value), { clock: this.#with.clock })
  }

  async createIndex(name: string, indexName: string, config: unknown): Promise<CreatedIndex> {
    const parsed = parseIndex(indexName, config, this.#with.randomBits())
    const add = (record: TableRecord, index: IndexDefinition): TableRecord => {
      const changed = withIndex(record, index)
      if (changed !== undefined) return changed
      const problem = `index "${indexName}" of table "${name}" exists already; choose another name`
      throw new ServiceError('ALREADY_EXISTS', problem)
    }
    add(this.#with.registry.get(name).record, parsed) // no model is asked for an index that cannot be
    const [index = parsed] = await this.#completed([parsed])
    await this.#change(name, (current) => add(current, index))
    return { config: indexConfigOf(index) }
  }

  /** Side by side, because a model may take seconds to answer. The first that fails ends the others. */
  async #completed(indexes: readonly IndexDefinition[]): Promise<readonly IndexDefinition[]> {
    const failed = new AbortController()
    const completing = indexes.map((index) =>
      this.#with.completeIndex(index, failed.signal).catch((error: unknown) => {
        failed.abort(error)
        return index
      }),
    )
    const completed = await Promise.all(completing)
    failed.signal.throwIfAborted()
    return completed
  }

  /** Writes the record anew as records are kept now: with the keys of models under the first secret. */
  async rewrite(name: string): Promise<void> {
    await this.#change(name, (current) => current)
  }

  async dropIndex(name: string, indexName: string): Promise<void> {
    assertIndexName(indexName)
    await this.#change(name, (current) => {
      const changed = withoutIndex(current, indexName)
      if (changed === undefined) throw nothingToDrop(`index "${indexName}" of table "${name}"`)
      return changed
    })
  }

  /** One after the other, so that the registry never goes back to an older record. */
  #change(name: string, change: (record: TableRecord) => TableRecord): Promise<OpenTable> {
    const changed = this.#changing.then(() => this.#changeNow(name, change))
    this.#changing = changed.catch(() => undefined) // the caller hears of it
    return changed.then(async (table) => {
      await this.#with.host.announce(name)
      return table
    })
  }

  async #changeNow(name: string, change: (record: TableRecord) => TableRecord): Promise<OpenTable> {
    const { catalog, registry, keys } = this.#with
    const record = await catalog.update(registry.get(name).record, (current) => {
      if (current.state !== 'ready') throw unknownTable(name)
      const changed = change(current)
      return { ...changed, indexes: keys.sealed(changed.indexes) }
    })
    const table = new OpenTable(record, registry.get(name).shards)
    registry.set(table)
    await this.#with.host.apply(table)
    return table
  }

  async drop(name: string): Promise<void> {
    const table = this.#with.registry.find(name)
    if (table === undefined || this.#dropping.has(table.tableId)) {
      throw nothingToDrop(`table "${name}"`)
    }
    this.#dropping.add(table.tableId)
    try {
      // In a cluster this node may complete a table that another one has created meanwhile.
      await this.#working.get(table.tableId)?.catch(() => undefined)
      await this.#dropNow(table)
    } finally {
      this.#dropping.delete(table.tableId)
    }
  }

  async #dropNow(table: OpenTable): Promise<void> {
    const { catalog, registry, host } = this.#with
    host.assertDroppable(table)
    await this.#alone(table.record, async () => {
      const record = await catalog.update(table.record, (current) => ({
        ...current,
        state: 'dropping',
      }))
      const dropping = new OpenTable(record, table.shards)
      registry.set(dropping)
      await this.#finishDrop(dropping)
      await host.announce(table.record.name)
    })
  }

  #isBusy({ tableId }: TableRecord): boolean {
    return this.#working.has(tableId) || this.#dropping.has(tableId)
  }

  async #alone<Result>({ tableId }: TableRecord, work: () => Promise<Result>): Promise<Result> {
    const running = work()
    this.#working.set(tableId, running)
    try {
      return await running
    } finally {
      this.#working.delete(tableId)
    }
  }

  async closeAll(): Promise<void> {
    await this.#with.host.closeAll()
  }

  async #complete({ record, shards: wanted }: CatalogTable): Promise<OpenTable> {
    const { host, catalog, registry } = this.#with
    const settings = new OpenTable(record, [])
    const shards: Shard[] = []
    try {
      for (let first = 0; first < wanted.length; first += SHARDS_AT_ONCE) {
        const some = wanted.slice(first, first + SHARDS_AT_ONCE)
        const opened = await Promise.allSettled(some.map((shard) => host.create(shard, settings)))
        shards.push(...opened.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : [])))
        const failure = opened.find((one) => one.status === 'rejected')
        if (failure !== undefined) throw failure.reason
      }
      // Another node may have completed the table, and a third one begun to drop it.
      const ready = await catalog.update(record, (current) =>
        current.state === 'creating' ? { ...current, state: 'ready' } : current,
      )
      const table = new OpenTable(ready, shards)
      registry.set(table)
      return table
    } catch (error) {
      for (const shard of shards) await host.close(shard)
      throw error
    }
  }

  async #open({ record, shards: wanted }: CatalogTable): Promise<OpenTable> {
    const known = this.#with.registry.openTable(record.tableId)
    if (known !== undefined) return new OpenTable(record, known.shards)
    const settings = new OpenTable(record, [])
    const shards = await Promise.all(wanted.map((shard) => this.#with.host.open(shard, settings)))
    return new OpenTable(record, shards)
  }

  async #finishDrop(table: OpenTable): Promise<void> {
    const { catalog, registry, host } = this.#with
    await host.end(table)
    registry.remove(table.record)
    for (const shard of table.shards) await host.destroy(shard)
    await catalog.remove(table.record)
  }

  async #buildTable(name: string, request: CreateTableRequest): Promise<CatalogTable> {
    const { num_shards: numShards, split_keys: splitKeys } = request
    const ranges = buildLayout({ numShards, splitKeys }, this.#with.replication.shardsMax)
    const schema =
      request.schema === undefined
        ? undefined
        : withVersion(await this.#readSchema(request.schema), undefined)
    const completed = await this.#completed(parseIndexes(request.indexes, this.#with.randomBits))
    const record: TableRecord = {
      name,
      tableId: this.#with.randomBits(),
      state: 'creating',
      description: request.description,
      schema,
      ttlGeneration: 1,
      hasBuiltInIndex: true,
      indexes: this.#with.keys.sealed(completed), // while models were asked, the secret may have changed
      replication: parseReplication(request, this.#with.replication),
    }
    const id = (): ShardId => parseShardId(this.#with.randomBits())
    return { record, shards: ranges.map((range) => ({ id: id(), range })) }
  }
}

export function nothingToDrop(what: string): ServiceError {
  return new ServiceError('NOT_FOUND', `${what} does not exist, so nothing was dropped`)
}

export function unknownIndex(table: string, index: string): ServiceError {
  const problem = `index "${index}" of table "${table}" does not exist; create it first`
  return new ServiceError('NOT_FOUND', problem)
}

function isInternal({ name }: TableRecord): boolean {
  return name.startsWith(INTERNAL_PREFIX)
}

function withSchema(record: TableRecord, request: SchemaRequest): TableRecord {
  const schema = withVersion(request, record.schema)
  const generation = sameTtl(record.schema, schema) ? 0 : 1
  return { ...record, schema, ttlGeneration: record.ttlGeneration + generation }
}

function sameTtl(a: TableSchema | undefined, b: TableSchema): boolean {
  return a?.ttl_duration === b.ttl_duration && a?.ttl_field === b.ttl_field
}

function assertTableName(name: string): void {
  if (NAME.test(name)) return
  throw new ServiceError(
    'INVALID_ARGUMENT',
    'tableName must begin with a letter or digit, have only letters, digits, ".", "_" and "-", ' +
      'and at most 255 of them',
  )
}
