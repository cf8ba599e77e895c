import { ServiceError } from '../../../lib/errors.ts'
import {
  NOTHING_DROPPED,
  sumOfReports,
  type DropCounts,
  type DropReport,
} from '../../index/host/drop-report.ts'
import type { IndexDefinition } from '../../index/host/index-definition.ts'
import type { IndexStatus } from '../../shard/following/index-health.ts'
import type { Shard } from '../../shard/shard.ts'
import type { OpenTable } from './open-table.ts'
import type {
  DropCountsInfo,
  DroppedValuesInfo,
  IndexInfo,
  IndexStatusInfo,
} from './table-answers.ts'
import { indexConfigOf, typeOf } from './table-indexes.ts'

/** The state of an index on every shard, and over all of them. */
export async function indexInfoOf(table: OpenTable, index: IndexDefinition): Promise<IndexInfo> {
  const shards = await Promise.all(
    table.shards.map(async (shard) => {
      const { status, dropped } = await shardStatus(shard, index)
      return { id: shard.id, status, dropped }
    }),
  )
  const dropped = droppedInfoOf(sumOfReports(shards.map((shard) => shard.dropped)))
  return {
    config: indexConfigOf(index),
    status: {
      ...overAll(
        index,
        shards.map(({ status }) => status),
      ),
      dropped_values: dropped,
    },
    shard_status: Object.fromEntries(shards.map(({ id, status }) => [id, status])),
  }
}

interface ToldStatus {
  readonly status: IndexStatusInfo
  readonly dropped: DropReport
}

async function shardStatus(shard: Shard, { name, kind }: IndexDefinition): Promise<ToldStatus> {
  try {
    const status = await shard.indexStatus(name)
    return { status: statusOf(typeOf(kind), status), dropped: status.dropped }
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error
    const status = { ...NOTHING, index_type: typeOf(kind), error: error.message }
    return { status, dropped: NOTHING_DROPPED }
  }
}

function statusOf(type: string, status: IndexStatus): IndexStatusInfo {
  return {
    index_type: type,
    total_indexed: status.totalIndexed,
    disk_usage: status.diskUsage,
    rebuilding: status.rebuilding,
    backfill_progress: status.backfillProgress,
    backfill_items_processed: status.backfillItemsProcessed,
    error: status.error ?? '',
    documents_set_aside: status.documentsSetAside,
    dropped_values: droppedInfoOf(status.dropped),
  }
}

function droppedInfoOf(report: DropReport): DroppedValuesInfo {
  const fields = Object.entries(report.fields).map(([name, counts]) => [name, infoOf(counts)])
  return { ...infoOf(report), fields: Object.fromEntries(fields) }
}

function infoOf({ badValues, overLimit }: DropCounts): DropCountsInfo {
  return { bad_values: badValues, over_limit: overLimit }
}

const NOTHING: Omit<IndexStatusInfo, 'index_type'> = {
  total_indexed: 0,
  disk_usage: 0,
  rebuilding: false,
  backfill_progress: 0,
  backfill_items_processed: 0,
  error: '',
  documents_set_aside: 0,
  dropped_values: { bad_values: 0, over_limit: 0, fields: {} },
}

/** Counts are summed; the progress is that of the shard that is furthest behind. */
function overAll(
  { kind }: IndexDefinition,
  shards: readonly IndexStatusInfo[],
): Omit<IndexStatusInfo, 'dropped_values'> {
  const sum = (valueOf: (status: IndexStatusInfo) => number): number =>
    shards.reduce((total, status) => total + valueOf(status), 0)
  return {
    index_type: typeOf(kind),
    total_indexed: sum(({ total_indexed }) => total_indexed),
    disk_usage: sum(({ disk_usage }) => disk_usage),
    rebuilding: shards.some(({ rebuilding }) => rebuilding),
    backfill_progress: Math.min(1, ...shards.map(({ backfill_progress }) => backfill_progress)),
    backfill_items_processed: sum(({ backfill_items_processed }) => backfill_items_processed),
    error: [...new Set(shards.map(({ error }) => error).filter(Boolean))].join('; '),
    documents_set_aside: sum(({ documents_set_aside }) => documents_set_aside),
  }
}
