import { ServiceError } from '../../../lib/errors.ts'
import type { Coordination } from '../../coordination/coordination.ts'
import type { FieldCatalog } from './field-catalog.ts'
import {
  decodeTable,
  encodeTable,
  TABLE_PREFIX,
  tableKey,
  type TableRecord,
} from './table-record.ts'

/** The table records in the coordination store. Every change is a compare-and-swap. */
export class Catalog {
  readonly #coordination: Coordination
  /** Of what documents brought to the tables: it goes with them. */
  readonly #fields: FieldCatalog

  constructor(coordination: Coordination, fields: FieldCatalog) {
    this.#coordination = coordination
    this.#fields = fields
  }

  async list(): Promise<readonly TableRecord[]> {
    const { entries } = await this.#coordination.list(TABLE_PREFIX)
    return entries.map(({ value }) => decodeTable(value))
  }

  /** Throws ALREADY_EXISTS, also for a table that is still being dropped. */
  async create(table: TableRecord): Promise<void> {
    const key = tableKey(table.name)
    const outcome = await this.#coordination.commit({
      when: [{ key, modRevision: 0 }],
      changes: [{ type: 'put', key, value: encodeTable(table) }],
    })
    if (outcome.kind === 'committed') return
    const found = outcome.entries[0]
    const isDropping = found !== undefined && decodeTable(found.value).state === 'dropping'
    const why = isDropping ? 'is still being dropped; try again' : 'exists; drop it first'
    throw new ServiceError('ALREADY_EXISTS', `table "${table.name}" ${why}`)
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
        throw new ServiceError('NOT_FOUND', `table "${name}" was dropped`)
      }
      const changed = change(current)
      const outcome = await this.#coordination.commit({
        when: [{ key, modRevision: entry.modRevision }],
        changes: [{ type: 'put', key, value: encodeTable(changed) }],
      })
      if (outcome.kind === 'committed') return changed
    }
  }

  /** The record as it is now; undefined when the table, in this incarnation, is gone. */
  async find({ name, tableId }: TableRecord): Promise<TableRecord | undefined> {
    const entry = await this.#coordination.get(tableKey(name))
    const current = entry === undefined ? undefined : decodeTable(entry.value)
    return current?.tableId === tableId ? current : undefined
  }

  /** Whether there is a table of this id, whatever its state. No other table ever gets the id. */
  async exists(tableId: string): Promise<boolean> {
    const tables = await this.list()
    return tables.some((table) => table.tableId === tableId)
  }

  async remove({ name, tableId }: TableRecord): Promise<void> {
    const key = tableKey(name)
    const entry = await this.#coordination.get(key)
    if (entry === undefined || decodeTable(entry.value).tableId !== tableId) return
    await this.#fields.remove(tableId)
    await this.#coordination.commit({
      when: [{ key, modRevision: entry.modRevision }],
      changes: [{ type: 'delete', key }],
    })
  }
}
