import { ServiceError } from '../../../lib/errors.ts'
import type { Shard, TextIndexStatus } from '../../shard/shard.ts'
import type { OpenTable } from './open-table.ts'
import type { IndexInfo, IndexStatus } from '../store-service.ts'
import { indexConfigOf } from './table-indexes.ts'
import type { IndexRecord } from './table-record.ts'

/** The state of an index on every shard, and over all of them. */
export async function indexInfoOf(table: OpenTable, index: IndexRecord): Promise<IndexInfo> {
  const shards = await Promise.all(
    table.shards.map(async (shard) => [shard.id, await shardStatus(shard, index)] as const),
  )
  return {
    config: indexConfigOf(index),
    status: overAll(
      index,
      shards.map(([, status]) => status),
    ),
    shard_status: Object.fromEntries(shards),
  }
}

async function shardStatus(shard: Shard, { name, type }: IndexRecord): Promise<IndexStatus> {
  try {
    return statusOf(type, await shard.textIndexStatus(name))
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error
    return { ...NOTHING, index_type: type, error: error.message }
  }
}

function statusOf(type: IndexRecord['type'], status: TextIndexStatus): IndexStatus {
  return {
    index_type: type,
    total_indexed: status.totalIndexed,
    disk_usage: status.diskUsage,
    rebuilding: status.rebuilding,
    backfill_progress: status.backfillProgress,
    backfill_items_processed: status.backfillItemsProcessed,
    error: status.error ?? '',
  }
}

const NOTHING: Omit<IndexStatus, 'index_type'> = {
  total_indexed: 0,
  disk_usage: 0,
  rebuilding: false,
  backfill_progress: 0,
  backfill_items_processed: 0,
  error: '',
}

/** Counts are summed; the progress is that of the shard that is furthest behind. */
function overAll({ type }: IndexRecord, shards: readonly IndexStatus[]): IndexStatus {
  const sum = (valueOf: (status: IndexStatus) => number): number =>
    shards.reduce((total, status) => total + valueOf(status), 0)
  return {
    index_type: type,
    total_indexed: sum(({ total_indexed }) => total_indexed),
    disk_usage: sum(({ disk_usage }) => disk_usage),
    rebuilding: shards.some(({ rebuilding }) => rebuilding),
    backfill_progress: Math.min(1, ...shards.map(({ backfill_progress }) => backfill_progress)),
    backfill_items_processed: sum(({ backfill_items_processed }) => backfill_items_processed),
    error: [...new Set(shards.map(({ error }) => error).filter(Boolean))].join('; '),
  }
}
