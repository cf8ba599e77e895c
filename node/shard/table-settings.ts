import type { IndexDefinition } from '../index/host/index-definition.ts'
import { DocumentRules, type TtlPolicy } from '../schema/document-rules.ts'
import type { TableSchema } from '../schema/table-schema.ts'

/** What a shard must know of its table. */
export interface TableSettings {
  /** Never used again, not even by a later table of the same name. */
  readonly tableId: string
  /** What people call it. */
  readonly tableName: string
  readonly rules: DocumentRules
  readonly ttl: TtlPolicy | undefined
  readonly schema: TableSchema | undefined
  readonly indexes: readonly IndexDefinition[]
}

/** Those of a table without a schema and without indexes. */
export const NO_SETTINGS: TableSettings = {
  tableId: '',
  tableName: '',
  rules: new DocumentRules(undefined),
  ttl: undefined,
  schema: undefined,
  indexes: [],
}
