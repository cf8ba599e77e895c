// Whether indexes of a table are built again because its schema changed. An index that is built for another
// reason, as after a crash, shows in the status of the index and of the node.

import type { LedShards } from '../shards/led-shards.ts'
import type { OpenTable } from './open-table.ts'
import type { TableMigration } from './table-answers.ts'
import { indexHealthOf } from './index-summary.ts'

/** Undefined while all indexes of the table answer by its schema. */
export async function migrationOf(
  table: OpenTable,
  led: LedShards,
): Promise<TableMigration | undefined> {
  const health = indexHealthOf(table, led)
  const migrating = health.filter(({ isMigrating }) => isMigrating)
  if (migrating.length === 0) return undefined
  const indexes = [...new Set(migrating.map(({ name }) => name))].toSorted()
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
