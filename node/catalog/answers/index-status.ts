import { ServiceError } from '../../../lib/errors.ts'
import {
  NOTHING_DROPPED,
  sumOfReports,
  type DropCounts,
  type DropReport,
} from '../../index/host/drop-report.ts'
import { isManaged } from '../../embedding/settings.ts'
import { FieldList, type TableField } from '../../schema/table-field.ts'
import type { IndexDefinition } from '../../index/host/index-definition.ts'
import type { IndexStatus, IndexStatusOptions } from '../../shard/following/index-health.ts'
import { totalBehind } from '../../shard/following/documents-behind.ts'
import type { EnrichmentStatus, ParkedDocument } from '../../shard/following/shard-enrichers.ts'
import type { Shard } from '../../shard/shard.ts'
import type { OpenTable } from '../tables/open-table.ts'
import type {
  DropCountsInfo,
  DroppedValuesInfo,
  DynamicFieldsInfo,
  EnrichmentInfo,
  IndexInfo,
  IndexStatusInfo,
  ParkedInfo,
} from '../tables/table-answers.ts'
import { indexConfigOf, typeOf } from '../tables/table-indexes.ts'

/** `fields` are those of the table's list; undefined for an index that has no words, and where nobody can tell. */
export interface IndexInfoOptions extends IndexStatusOptions {
  readonly fields?: readonly TableField[] | undefined
}

/** The state of an index on every shard, and over all of them, with the first `parkedMax` of its parked documents. */
export async function indexInfoOf(
  table: OpenTable,
  index: IndexDefinition,
  { parkedMax = 0, fields }: IndexInfoOptions = {},
): Promise<IndexInfo> {
  const shards = await Promise.all(
    table.shards.map(async (shard) => ({
      id: shard.id,
      ...(await shardStatus(shard, index, { parkedMax })),
    })),
  )
  const parked = shards.flatMap((shard) => shard.parked).slice(0, parkedMax)
  const dropped = droppedInfoOf(sumOfReports(shards.map((shard) => shard.dropped)))
  const status = overAll(
    index,
    shards.map((shard) => shard.status),
  )
  const warnings = await warningsOf(table, index, status)
  return {
    config: indexConfigOf(index),
    status: {
      ...status,
      dropped_values: dropped,
      ...(fields === undefined ? {} : { dynamic_fields: showFields(fields) }),
      ...(warnings.length === 0 ? {} : { warnings }),
    },
    ...(parkedMax === 0 ? {} : { parked_documents: parked.map(showParked) }),
    shard_status: Object.fromEntries(shards.map((shard) => [shard.id, shard.status])),
  }
}

/** An index over a field that no document has is complete, and finds nothing. */
async function warningsOf(
  table: OpenTable,
  { name }: IndexDefinition,
  status: Omit<IndexStatusInfo, 'dropped_values'>,
): Promise<readonly string[]> {
  const settings = table.embeddings.get(name)?.settings
  if (settings === undefined || !isManaged(settings) || settings.source.kind !== 'field') return []
  const isComplete = !status.rebuilding && status.documents_behind === 0 && status.error === ''
  if (!isComplete || status.total_indexed > 0) return []
  const stats = await Promise.all(table.shards.map((shard) => shard.stats().catch(() => undefined)))
  if (stats.every((one) => one === undefined || one.empty)) return []
  const { path } = settings.source
  return [
    `no document of table "${table.tableName}" has anything to embed in field "${path}", so the index is empty`,
  ]
}

function showFields(fields: readonly TableField[]): DynamicFieldsInfo {
  const list = new FieldList()
  for (const field of fields) list.add(field)
  return { count: list.size, is_full: !list.hasRoom }
}

interface ToldStatus {
  readonly status: IndexStatusInfo
  readonly dropped: DropReport
  readonly parked: readonly ParkedDocument[]
}

async function shardStatus(
  shard: Shard,
  { name, kind }: IndexDefinition,
  options: IndexStatusOptions,
): Promise<ToldStatus> {
  try {
    const status = await shard.indexStatus(name, options)
    const parked = status.enrichment?.parkedDocuments ?? []
    return { status: statusOf(typeOf(kind), status), dropped: status.dropped, parked }
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error
    const status = { ...NOTHING, index_type: typeOf(kind), error: error.message }
    return { status, dropped: NOTHING_DROPPED, parked: [] }
  }
}

/** An index is complete when all artifacts are made, and the index has taken them. */
function statusOf(type: string, status: IndexStatus): IndexStatusInfo {
  const { enrichment } = status
  return {
    index_type: type,
    total_indexed: status.totalIndexed,
    disk_usage: status.diskUsage,
    rebuilding: status.rebuilding,
    backfill_progress: status.backfillProgress,
    backfill_items_processed: status.backfillItemsProcessed,
    error: [status.error, enrichment?.error].filter(Boolean).join('; '),
    documents_set_aside: status.documentsSetAside,
    documents_behind: totalBehind(status.behind),
    dropped_values: droppedInfoOf(status.dropped),
    ...(enrichment === undefined ? {} : { enrichment: showEnrichment(enrichment) }),
  }
}

function showEnrichment(status: EnrichmentStatus): EnrichmentInfo {
  const { pending, enriched, parked, retrying, progress } = status
  return { pending, enriched, parked, retrying, progress, error: status.error ?? '' }
}

function showParked({ key, attempts, error }: ParkedDocument): ParkedInfo {
  return { _id: key.toString(), attempts, error }
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
  documents_behind: 0,
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
    documents_behind: sum(({ documents_behind }) => documents_behind),
    ...enrichmentOverAll(shards.flatMap(({ enrichment }) => enrichment ?? [])),
  }
}

function enrichmentOverAll(shards: readonly EnrichmentInfo[]): Pick<IndexStatusInfo, 'enrichment'> {
  if (shards.length === 0) return {}
  const sum = (countOf: (info: EnrichmentInfo) => number): number =>
    shards.reduce((total, info) => total + countOf(info), 0)
  const errors = new Set(shards.map(({ error }) => error).filter(Boolean))
  const enrichment = {
    pending: sum(({ pending }) => pending),
    enriched: sum(({ enriched }) => enriched),
    parked: sum(({ parked }) => parked),
    retrying: sum(({ retrying }) => retrying),
    progress: Math.min(...shards.map(({ progress }) => progress)),
    error: [...errors].join('; '),
  }
  return { enrichment }
}
