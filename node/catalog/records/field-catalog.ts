import { silentLog, type Log } from '../../../lib/log.ts'
import type { Coordination } from '../../coordination/coordination.ts'
import { OPS_PER_COMMIT_MAX } from '../../coordination/coordination.ts'
import type { TableFields, TableFieldsDirectory } from '../../shard/following/table-fields.ts'
import { StoredTableFields } from './stored-table-fields.ts'
import { fieldPagesPrefix } from './table-fields-codec.ts'

/** The lists of fields of all tables: one object for each table of this node. */
export class FieldCatalog implements TableFieldsDirectory {
  readonly #coordination: Coordination
  readonly #log: Pick<Log, 'warn'>
  readonly #byTable = new Map<string, StoredTableFields>()

  constructor(coordination: Coordination, log: Pick<Log, 'warn'> = silentLog) {
    this.#coordination = coordination
    this.#log = log
  }

  of(tableId: string): TableFields {
    const known = this.#byTable.get(tableId)
    if (known !== undefined) return known
    const fields = new StoredTableFields(this.#coordination, tableId, this.#log)
    this.#byTable.set(tableId, fields)
    return fields
  }

  /** Deletes the list of a table. The caller has removed all shards of the table before. */
  async remove(tableId: string): Promise<void> {
    this.#byTable.delete(tableId)
    const { entries } = await this.#coordination.list(fieldPagesPrefix(tableId))
    for (let at = 0; at < entries.length; at += OPS_PER_COMMIT_MAX) {
      const pages = entries.slice(at, at + OPS_PER_COMMIT_MAX)
      const changes = pages.map(({ key }) => ({ type: 'delete', key }) as const)
      await this.#coordination.commit({ when: [], changes })
    }
  }
}
