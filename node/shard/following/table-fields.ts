import type { TableField } from '../../schema/table-field.ts'

/**
 * A table's list of the fields that no schema declares (schema/table-field.ts). The whole table has
 * one list, kept where all its shards can reach it. An index reads it, adds the new fields of
 * documents, and decides by it.
 *
 * Contract, checked for every implementation by test/conformance/table-fields.ts:
 * - The list only grows, at its end, and has a name once: of two proposals for one name the first stays.
 *   Every node sees the same list or a beginning of it, also after a restart.
 * - `load` resolves when `known` has all fields that any index added before the call.
 * - `propose` resolves when `known` has every proposed name or `FieldList.hasRoom` is false. It adds
 *   in the given order. An added field is durable before it appears in any `known`.
 * - Listeners are called when `known` has grown.
 * - Both fail with a ServiceError when the list is out of reach. The proposed fields may have been
 *   added all the same, and proposing them again is safe.
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
