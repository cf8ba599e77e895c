// Whether indexes of a table are built again because its schema changed. An index that is built for another
// reason, as after a crash, shows in the status of the index and of the node.

import { indexVersionOf } from '../../shard/following/index-versions.ts'
import type { ShardStats } from '../../shard/shard.ts'
import type { OpenTable } from '../tables/open-table.ts'
import type { TableMigration } from '../tables/table-answers.ts'

/**
 * Undefined while all indexes of the table answer by its schema, on every shard. `stats` are those of all shards, told
 * by their leaders: the node that answers may lead none of them.
 */
export async function migrationOf(
  table: OpenTable,
  stats: readonly ShardStats[],
): Promise<TableMigration | undefined> {
  const newest = indexVersionOf(table.record.schema)
  const migrating = stats.flatMap(({ indexVersions }) =>
    indexVersions.filter(({ version }) => version !== newest).map(({ index }) => index),
  )
  if (migrating.length === 0) return undefined
  const indexes = [...new Set(migrating)].toSorted()
  const progress = await Promise.all(indexes.map((name) => progressOf(table, name)))
  return { indexes, progress: Math.min(1, ...progress) }
}

/** The progress of the shard that is furthest behind. */
async function progressOf(table: OpenTable, index: string): Promise<number> {
  const shards = await Promise.all(
    table.shards.map(async (shard) => {
      const status = await shard.indexStatus(index).catch(() => undefined)
      return status?.backfillProgress ?? 0
    }),
  )
  return Math.min(1, ...shards)
}
