import type { TableField } from '../../schema/table-field.ts'

/**
 * A table's list of the fields that no schema spells out (schema/table-field.ts): one for
 * the whole table, kept where all its shards can reach it. An index reads it, adds what documents
 * bring, and decides by it.
 *
 * Contract, checked for every implementation by test/conformance/table-fields.ts:
 * - The list only grows, at its end, and has a name once: of two proposals for one name the first stays.
 *   Everybody sees the same list or a beginning of it, also after a restart.
 * - `load` resolves when `known` has what was added before the call, by any index.
 * - `propose` resolves when `known` has every proposed name or `FieldList.hasRoom` is false. It adds
 *   in the order given. What was added is durable before anybody sees it in `known`.
 * - Listeners are called when `known` has grown.
 * - Both fail with a ServiceError when the place is out of reach; what was proposed may then have been
 *   added all the same. To propose again is safe.
 */
export interface TableFields {
  readonly known: readonly TableField[]
  load(): Promise<void>
  propose(fields: readonly TableField[]): Promise<void>
  /** Returns how to stop listening. */
  onGrown(listener: () => void): () => void
}

/** Finds a table's list by the table's id. */
export interface TableFieldsDirectory {
  of(tableId: string): TableFields
}
