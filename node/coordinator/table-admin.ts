// Creating, changing and dropping tables, and opening them at the start.
//
// Invariants:
//   A1  A table is found by name only while its record says `ready` and its shards are open.
//   A2  Stores are removed only while the record says `dropping`, and after every transaction that
//       the table anchors has told its outcome to the other tables. The record goes last, so a store
//       without a record was not made here, and nobody removes it.
//   A3  A crash anywhere is finished by `openAll`: `creating` is completed, `dropping` is dropped.

import { isServiceError, ServiceError } from '../../lib/errors.ts'
import { parseTableSchema, type TableSchema } from '../schema/table-schema.ts'
import { LocalShard } from '../shard/local-shard.ts'
import { parseShardId } from '../shard/shard-id.ts'
import type { Catalog } from './catalog.ts'
import { OpenTable } from './open-table.ts'
import type { ShardHost } from './shard-host.ts'
import { buildLayout } from './shard-layout.ts'
import type { CreateTableRequest } from './store-service.ts'
import type { TableRecord } from './table-record.ts'
import type { TableRegistry } from './table-registry.ts'
import type { TransactionRecovery } from './transaction-recovery.ts'

const NAME = /^[A-Za-z0-9][A-Za-z0-9._-]{0,254}$/
export const TABLES_MAX = 1000
/** Tables that begin with this are the product's own and hidden from listings. */
export const INTERNAL_PREFIX = '_'

export interface TableAdminOptions {
  readonly catalog: Catalog
  readonly registry: TableRegistry
  readonly host: ShardHost
  readonly recovery: TransactionRecovery
  /** 64 random bits as 16 hexadecimal digits. */
  readonly randomBits: () => string
}

export class TableAdmin {
  readonly #with: TableAdminOptions

  constructor(options: TableAdminOptions) {
    this.#with = options
  }

  /** Opens every table of the catalog and finishes what a crash interrupted. */
  async openAll(): Promise<void> {
    const { catalog, registry } = this.#with
    for (const record of await catalog.list()) {
      if (record.state === 'creating') await this.#complete(record)
      else registry.set(await this.#open(record))
    }
  }

  /** After recovery has run once: drops what was being dropped, if it can be by now. */
  async finishDrops(): Promise<void> {
    for (const record of await this.#with.catalog.list()) {
      if (record.state !== 'dropping') continue
      try {
        await this.#finishDrop(await this.#open(record))
      } catch (error) {
        // A shard that another table has lost must not keep the node from starting (A2).
        if (!isServiceError(error)) throw error
      }
    }
  }

  async create(name: string, request: CreateTableRequest): Promise<OpenTable> {
    assertTableName(name)
    return this.createUnchecked(name, request)
  }

  /** Without the rules on names, for the product's own tables. */
  async createUnchecked(name: string, request: CreateTableRequest): Promise<OpenTable> {
    const { registry, catalog } = this.#with
    if (registry.find(name) !== undefined) {
      throw new ServiceError('ALREADY_EXISTS', `table "${name}" exists; drop it first`)
    }
    if (registry.tables().length >= TABLES_MAX) {
      throw new ServiceError('INVALID_ARGUMENT', `a cluster holds at most ${TABLES_MAX} tables`)
    }
    const record = this.#buildRecord(name, request)
    await catalog.create(record)
    return this.#complete(record)
  }

  async updateSchema(name: string, schema: unknown): Promise<OpenTable> {
    const { catalog, registry } = this.#with
    const { record } = registry.get(name)
    const changed = await catalog.update(record, (current) => withSchema(current, schema))
    const table = new OpenTable(changed, registry.get(name).shards)
    registry.set(table)
    for (const shard of table.shards) if (shard instanceof LocalShard) shard.setTtl(table.ttl)
    return table
  }

  async drop(name: string): Promise<void> {
    const { catalog, registry } = this.#with
    const table = registry.get(name)
    const record = await catalog.update(table.record, (current) => ({
      ...current,
      state: 'dropping',
    }))
    const dropping = new OpenTable(record, table.shards)
    registry.set(dropping)
    await this.#finishDrop(dropping)
  }

  async closeAll(): Promise<void> {
    const { registry, host } = this.#with
    for (const { shard } of registry.localShards()) await host.close(shard)
  }

  async #complete(record: TableRecord): Promise<OpenTable> {
    const { host, catalog, registry } = this.#with
    const { ttl } = new OpenTable(record, [])
    const shards = await Promise.all(record.shards.map((shard) => host.create(shard, ttl)))
    const ready = await catalog.update(record, (current) => ({ ...current, state: 'ready' }))
    const table = new OpenTable(ready, shards)
    registry.set(table)
    return table
  }

  async #open(record: TableRecord): Promise<OpenTable> {
    const known = this.#with.registry.openShards(record.tableId)
    if (known !== undefined) return new OpenTable(record, known)
    const { ttl } = new OpenTable(record, [])
    const shards = await Promise.all(record.shards.map((shard) => this.#with.host.open(shard, ttl)))
    return new OpenTable(record, shards)
  }

  async #finishDrop(table: OpenTable): Promise<void> {
    const { recovery, catalog, registry, host } = this.#with
    const { tableId } = table.record
    const shards = table.shards.filter((shard) => shard instanceof LocalShard)
    await Promise.all(shards.map((shard) => shard.seal()))
    for (const shard of shards) await recovery.drain(tableId, shard)
    registry.remove(table.record)
    for (const shard of table.shards) await host.destroy(shard)
    await catalog.remove(table.record)
  }

  #buildRecord(name: string, request: CreateTableRequest): TableRecord {
    const ranges = buildLayout({ numShards: request.num_shards, splitKeys: request.split_keys })
    const schema =
      request.schema === undefined ? undefined : parseTableSchema(request.schema, undefined)
    return {
      name,
      tableId: this.#with.randomBits(),
      state: 'creating',
      description: request.description,
      schema,
      ttlGeneration: 1,
      shards: ranges.map((range) => ({ id: parseShardId(this.#with.randomBits()), range })),
    }
  }
}

function withSchema(record: TableRecord, value: unknown): TableRecord {
  const schema = parseTableSchema(value, record.schema)
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
