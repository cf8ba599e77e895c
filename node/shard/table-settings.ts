import { DocumentRules, type TtlPolicy } from '../schema/document-rules.ts'

/** What a shard must know of its table's schema. */
export interface TableSettings {
  readonly rules: DocumentRules
  readonly ttl: TtlPolicy | undefined
}

/** Those of a table without a schema. */
export const NO_SETTINGS: TableSettings = { rules: new DocumentRules(undefined), ttl: undefined }
