// Whether indexes of a table are being built, as after a change of its schema.

import type { LedShards } from '../shards/led-shards.ts'
import type { OpenTable } from './open-table.ts'
import type { TableMigration } from './table-answers.ts'
import { indexHealthOf } from './index-summary.ts'

/** Undefined while all indexes of the table are as its schema says. */
export async function migrationOf(
  table: OpenTable,
  led: LedShards,
): Promise<TableMigration | undefined> {
  const health = indexHealthOf(table, led)
  const building = health.filter(({ activity }) => activity.kind === 'building')
  if (building.length === 0) return undefined
  const indexes = [...new Set(building.map(({ name }) => name))].toSorted()
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
