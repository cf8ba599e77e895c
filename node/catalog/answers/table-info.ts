import type { ShardStats } from '../../shard/shard.ts'
import type { OpenTable } from '../tables/open-table.ts'
import type { TableInfo, TableMigration, TableStatus } from '../tables/table-answers.ts'
import type { TableContents } from './table-contents.ts'
import { indexConfigOf, indexesOf } from '../tables/table-indexes.ts'
import { replicationOf, type ReplicationRules } from '../admin/table-replication.ts'

const LAST_RANGE_END = Buffer.from([0xff]).toString('base64')

export function tableInfoOf(
  { record, shards: open }: OpenTable,
  rules: ReplicationRules,
): TableInfo {
  const shards = open.map(({ id, range }) => {
    const start = range.start.toString('base64')
    const end = range.end?.toString('base64') ?? LAST_RANGE_END
    return [id, { byte_range: [start, end] }] as const
  })
  const { replicationFactor, minInSync } = replicationOf(record, rules)
  return {
    name: record.name,
    ...(record.description === undefined ? {} : { description: record.description }),
    indexes: Object.fromEntries(
      indexesOf(record).map((index) => [index.name, indexConfigOf(index)]),
    ),
    shards: Object.fromEntries(shards),
    ...(record.schema === undefined ? {} : { schema: record.schema }),
    replication_factor: replicationFactor,
    min_in_sync: minInSync,
  }
}

/** What is known of a table beside its configuration. `contents` undefined: its indexes did not tell. */
export interface TableFacts {
  readonly stats: readonly ShardStats[]
  readonly contents: TableContents | undefined
  readonly migration: TableMigration | undefined
}

export function tableStatusOf(
  info: TableInfo,
  { stats, contents, migration }: TableFacts,
): TableStatus {
  const { approximateDocuments, documentsBehind, indexBytes } = contents ?? {}
  return {
    ...info,
    ...(migration === undefined ? {} : { migration }),
    ...(approximateDocuments === undefined ? {} : { approximate_documents: approximateDocuments }),
    ...(documentsBehind === undefined ? {} : { documents_behind: documentsBehind }),
    storage_status: {
      disk_usage: stats.reduce((sum, { diskBytes }) => sum + diskBytes, 0),
      empty: stats.every(({ empty }) => empty),
      ...(indexBytes === undefined ? {} : { index_disk_usage: indexBytes }),
    },
  }
}
