import { ServiceError } from '../../../lib/errors.ts'
import type { ShardId } from '../../shard/shard-id.ts'
import type { OpenTable } from './open-table.ts'

/**
 * The tables that this node serves, by name for clients and by id for transactions. A table that is
 * being dropped is found by its id alone, so that transactions can still end there.
 */
export class TableRegistry {
  readonly #byName = new Map<string, OpenTable>()
  readonly #byId = new Map<string, OpenTable>()

  /** Adds the table, or replaces it by a later form of itself. */
  set(table: OpenTable): void {
    const { tableId, name, state } = table.record
    this.#byId.set(tableId, table)
    if (state === 'ready') this.#byName.set(name, table)
    else this.#hide(tableId, name)
  }

  remove({ tableId, name }: { readonly tableId: string; readonly name: string }): void {
    this.#byId.delete(tableId)
    this.#hide(tableId, name)
  }

  find(name: string): OpenTable | undefined {
    return this.#byName.get(name)
  }

  /** Throws NOT_FOUND. */
  get(name: string): OpenTable {
    const table = this.#byName.get(name)
    if (table === undefined) throw unknownTable(name)
    return table
  }

  /** In order of their names. */
  tables(): readonly OpenTable[] {
    return [...this.#byName.values()].toSorted((a, b) => (a.record.name < b.record.name ? -1 : 1))
  }

  /** Every table, also one that is being created or dropped. */
  all(): readonly OpenTable[] {
    return [...this.#byId.values()]
  }

  openTable(tableId: string): OpenTable | undefined {
    return this.#byId.get(tableId)
  }

  /** The shards of all tables, including tables that are being dropped. */
  *shardIds(): Generator<ShardId> {
    for (const { shards } of this.#byId.values()) {
      for (const { id } of shards) yield id
    }
  }

  #hide(tableId: string, name: string): void {
    if (this.#byName.get(name)?.record.tableId === tableId) this.#byName.delete(name)
  }
}

export function unknownTable(name: string): ServiceError {
  return new ServiceError('NOT_FOUND', `table "${name}" does not exist; create it first`)
}
