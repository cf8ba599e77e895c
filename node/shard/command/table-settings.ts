import type { IndexDefinition } from '../../index/host/index-definition.ts'
import { DocumentRules, type TtlPolicy } from '../../schema/document-rules.ts'
import type { TableSchema } from '../../schema/table-schema.ts'

/** The parts of a table's record that its shards work by. */
export interface TableSettings {
  /** Never used again, not even by a later table of the same name. */
  readonly tableId: string
  /** The name that clients use. A later table may have the same one. */
  readonly tableName: string
  readonly rules: DocumentRules
  readonly ttl: TtlPolicy | undefined
  readonly schema: TableSchema | undefined
  readonly indexes: readonly IndexDefinition[]
}

/** The settings of a table without a schema and without indexes. */
export const NO_SETTINGS: TableSettings = {
  tableId: '',
  tableName: '',
  rules: new DocumentRules(undefined),
  ttl: undefined,
  schema: undefined,
  indexes: [],
}
