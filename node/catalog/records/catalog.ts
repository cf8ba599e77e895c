// The table records and shard maps in the coordination store. Described in docs/reference/formats/catalog.md.
//
// Invariants:
//   CT1  A table's record and the keys of its shards come with one commit and go with one commit. Where they do
//        not fit into one, the record is the last to come and the first to go (catalog-drafts.ts).
//        In a cluster, the commit by which a table goes puts its tombstone (table-tombstone.ts).
//   CT2  The shards that are listed together cover every key of their table once.

import { ServiceError } from '../../../lib/errors.ts'
import type { Change, Coordination, CoordinationEntry } from '../../coordination/coordination.ts'
import { parseShardId } from '../../shard/shard-id.ts'
import type { ShardRecord } from './shard-record.ts'
import { CatalogDrafts, fitTogether } from './catalog-drafts.ts'
import type { FieldCatalog } from './field-catalog.ts'
import {
  decodeShard,
  decodeStored,
  decodeTable,
  encodeShard,
  encodeTable,
  SHARD_PREFIX,
  shardKey,
  shardPrefix,
  TABLE_PREFIX,
  tableIdOfShardKey,
  tableKey,
  type CatalogTable,
  type TableRecord,
} from './table-record.ts'
import { putTombstone } from './table-tombstone.ts'

/** Why a table cannot be created, with the ways out. */
export const TABLE_EXISTS = 'exists already; choose another name, or change its schema'

/** The records of all tables. Every change is a compare-and-swap. */
export class Catalog {
  readonly #coordination: Coordination
  /** The fields that documents brought to the tables. A table takes its list with it. */
  readonly #fields: FieldCatalog
  readonly #drafts: CatalogDrafts

  constructor(coordination: Coordination, fields: FieldCatalog) {
    this.#coordination = coordination
    this.#drafts = new CatalogDrafts(coordination)
    this.#fields = fields
  }

  /** Gives shards keys of their own where an earlier version has put them into the table's record. */
  async convert(): Promise<void> {
    const { entries } = await this.#coordination.list(TABLE_PREFIX)
    for (const { key, value, modRevision } of entries) {
      const { record, shards } = decodeStored(value)
      if (shards === undefined) continue
      await this.#coordination.commit({
        when: [{ key, modRevision }],
        changes: [putTable(record), ...shards.map((shard) => putShard(record, shard))],
      })
    }
  }

  async list(): Promise<readonly CatalogTable[]> {
    const { entries } = await this.#coordination.list(TABLE_PREFIX)
    const shards = await this.#coordination.list(SHARD_PREFIX)
    const byTable = Map.groupBy(shards.entries, ({ key }) => tableIdOfShardKey(key))
    return entries.flatMap(({ value }) => {
      const record = decodeTable(value)
      const found = byTable.get(record.tableId)
      // It was dropped between the two listings (CT1). Shards without a table are not looked at.
      return found === undefined ? [] : [{ record, shards: shardsOf(found) }]
    })
  }

  /** Throws ALREADY_EXISTS, also for a table that is still being dropped. */
  async create({ record, shards }: CatalogTable): Promise<void> {
    const key = tableKey(record.name)
    const isFree = { key, modRevision: 0 }
    const table = putTable(record)
    const puts = shards.map((shard) => putShard(record, shard))
    if (fitTogether([table, ...puts])) {
      const changes = [table, ...puts]
      const outcome = await this.#coordination.commit({ when: [isFree], changes })
      if (outcome.kind === 'committed') return
    } else {
      const { tableId } = record
      if (await this.#drafts.publish({ tableId, isFree, table, shards: puts })) return
    }
    const found = await this.#coordination.get(key)
    const isDropping = found !== undefined && decodeTable(found.value).state === 'dropping'
    const why = isDropping ? 'is still being dropped; try again' : TABLE_EXISTS
    throw new ServiceError('ALREADY_EXISTS', `table "${record.name}" ${why}`)
  }

  /**
   * Replaces the record by what `change` makes of it, again if another change came first.
   * Throws NOT_FOUND when the table, in this incarnation, is gone.
   */
  async update(
    { name, tableId }: TableRecord,
    change: (table: TableRecord) => TableRecord,
  ): Promise<TableRecord> {
    const key = tableKey(name)
    for (;;) {
      const entry = await this.#coordination.get(key)
      const current = entry === undefined ? undefined : decodeTable(entry.value)
      if (entry === undefined || current?.tableId !== tableId) {
        throw new ServiceError('NOT_FOUND', `table "${name}" was dropped; create it first`)
      }
      const changed = change(current)
      const outcome = await this.#coordination.commit({
        when: [{ key, modRevision: entry.modRevision }],
        changes: [putTable(changed)],
      })
      if (outcome.kind === 'committed') return changed
    }
  }

  /** The table as it is now; undefined when it, in this incarnation, is gone. */
  async find({ name, tableId }: TableRecord): Promise<CatalogTable | undefined> {
    const entry = await this.#coordination.get(tableKey(name))
    const record = entry === undefined ? undefined : decodeTable(entry.value)
    if (record?.tableId !== tableId) return undefined
    const shards = await this.#shardEntries(tableId)
    return shards.length === 0 ? undefined : { record, shards: shardsOf(shards) }
  }

  /** Whether there is a table of this id, whatever its state. No other table ever gets the id. */
  async exists(tableId: string): Promise<boolean> {
    return (await this.#shardEntries(tableId)).length > 0
  }

  async remove({ name, tableId }: TableRecord): Promise<void> {
    const key = tableKey(name)
    await this.#fields.remove(tableId)
    for (;;) {
      const entry = await this.#coordination.get(key)
      if (entry === undefined || decodeTable(entry.value).tableId !== tableId) return
      const going = [entry, ...(await this.#shardEntries(tableId))]
      const deletions = going.map((each): Change => ({ type: 'delete', key: each.key }))
      const tombstone = this.#tombstoneOf(tableId, going.slice(1))
      if (!fitTogether([...deletions, ...tombstone])) {
        if (await this.#removeInParts(entry, tableId, tombstone)) return
        continue
      }
      const outcome = await this.#coordination.commit({
        when: going.map(({ key: each, modRevision }) => ({ key: each, modRevision })),
        changes: [...deletions, ...tombstone],
      })
      if (outcome.kind === 'committed') return
    }
  }

  /** Removes what a crash left of tables that were created or removed in parts. See `CatalogDrafts.clean`. */
  async clean(nowMs: number): Promise<void> {
    await this.#drafts.clean(nowMs)
  }

  /** The table is gone when its record is. Answers false if the record has changed. */
  async #removeInParts(
    { key, modRevision }: CoordinationEntry,
    tableId: string,
    tombstone: readonly Change[],
  ): Promise<boolean> {
    const outcome = await this.#coordination.commit({
      when: [{ key, modRevision }],
      changes: [{ type: 'delete', key }, this.#drafts.ending(tableId), ...tombstone],
    })
    if (outcome.kind === 'conflict') return false
    await this.#drafts.clear(tableId)
    return true
  }

  /** No other process has anything of a table in swarm mode. */
  #tombstoneOf(tableId: string, shards: readonly CoordinationEntry[]): readonly Change[] {
    if (this.#coordination.scope === 'process') return []
    const length = shardPrefix(tableId).length
    return [
      putTombstone(
        tableId,
        shards.map(({ key }) => parseShardId(key.slice(length))),
      ),
    ]
  }

  async #shardEntries(tableId: string): Promise<readonly CoordinationEntry[]> {
    return (await this.#coordination.list(shardPrefix(tableId))).entries
  }
}

function shardsOf(entries: readonly CoordinationEntry[]): readonly ShardRecord[] {
  return entries
    .map(({ value }) => decodeShard(value))
    .toSorted((a, b) => a.range.start.compare(b.range.start))
}

function putTable(record: TableRecord): Change {
  return { type: 'put', key: tableKey(record.name), value: encodeTable(record) }
}

function putShard({ tableId }: TableRecord, shard: ShardRecord): Change {
  return { type: 'put', key: shardKey(tableId, shard.id), value: encodeShard(shard) }
}
