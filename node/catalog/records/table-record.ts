// The keys and values of tables and shards in the coordination store. Format: docs/reference/formats/catalog.md.

import { ServiceError } from '../../../lib/errors.ts'
import type { TableReplication } from '../../controller/core/view/cluster-view.ts'
import { TEXT_INDEX } from '../../index/kinds/text-descriptor.ts'
import { NO_INDEX_ID, type IndexDefinition } from '../../index/host/index-definition.ts'
import type { TableSchema } from '../../schema/table-schema.ts'
import type { ShardRecord } from './shard-record.ts'
import { parseShardId, type ShardId } from '../../shard/shard-id.ts'

/** 2: shards have keys of their own, and indexes a kind. */
const FORMAT = 2
/** The shards are in the table's record, and every index is a full-text one. */
const FORMER_FORMAT = 1
const SHARD_FORMAT = 1
export const TABLE_PREFIX = '/tables/'
export const SHARD_PREFIX = '/table-shards/'

/**
 *   creating ──stores exist──► ready ──drop──► dropping ──transactions ended──► (gone)
 *
 * `dropping` is a state of its own, because the table may keep the record of a transaction whose
 * outcome another table still has to learn.
 */
export type TableState = 'creating' | 'ready' | 'dropping'

/** A table as the catalog knows it, without its shards. */
export interface TableRecord {
  readonly name: string
  /** Never used again, not even by a later table of the same name. */
  readonly tableId: string
  readonly state: TableState
  readonly description: string | undefined
  readonly schema: TableSchema | undefined
  /** Goes up when ttl_duration or ttl_field change; 0 is never used by a policy. */
  readonly ttlGeneration: number
  /** The indexes that clients added, without the built-in one. */
  readonly indexes: readonly IndexDefinition[]
  /** False when a client dropped it, to spare a table that nobody searches. */
  readonly hasBuiltInIndex: boolean
  /** Undefined: as the store does it for tables that ask for nothing. */
  readonly replication: TableReplication | undefined
}

/** A table with its shards, in key order; together they cover every key. */
export interface CatalogTable {
  readonly record: TableRecord
  readonly shards: readonly ShardRecord[]
}

/** Records of earlier versions have indexes without ids, all of them full-text ones. */
type StoredIndex = Omit<IndexDefinition, 'id'> & Partial<Pick<IndexDefinition, 'id'>>

/** An index in a record of format 1. */
interface FormerIndex {
  readonly type: string
  readonly name: string
  readonly memOnly: boolean
}

interface StoredTable {
  readonly format: number
  readonly name: string
  readonly tableId: string
  readonly state: TableState
  readonly description?: string
  readonly schema?: TableSchema
  readonly ttlGeneration: number
  readonly indexes?: readonly (StoredIndex | FormerIndex)[]
  readonly hasBuiltInIndex?: false
  readonly replicationFactor?: number
  /** With `replicationFactor`, or absent as well. */
  readonly minInSync?: number
  /** Only in format 1. */
  readonly shards?: readonly StoredRange[]
}

interface StoredRange {
  readonly id: string
  readonly start: string
  readonly end: string | null
}

interface StoredShard extends StoredRange {
  readonly format: number
}

export function tableKey(name: string): string {
  return TABLE_PREFIX + name
}

export function encodeTable(table: TableRecord): Buffer {
  const stored: StoredTable = {
    format: FORMAT,
    name: table.name,
    tableId: table.tableId,
    state: table.state,
    ...(table.description === undefined ? {} : { description: table.description }),
    ...(table.schema === undefined ? {} : { schema: table.schema }),
    ttlGeneration: table.ttlGeneration,
    ...(table.indexes.length === 0 ? {} : { indexes: table.indexes }),
    ...(table.hasBuiltInIndex ? {} : { hasBuiltInIndex: false }),
    ...table.replication,
  }
  return Buffer.from(JSON.stringify(stored))
}

export function decodeTable(bytes: Buffer): TableRecord {
  return decodeStored(bytes).record
}

/** `shards` is undefined where they have keys of their own. */
export function decodeStored(bytes: Buffer): {
  readonly record: TableRecord
  readonly shards: readonly ShardRecord[] | undefined
} {
  const stored: StoredTable = JSON.parse(bytes.toString())
  if (stored.format !== FORMAT && stored.format !== FORMER_FORMAT) {
    throw new ServiceError('CORRUPTION', `table record: unknown format ${stored.format}`)
  }
  const record = {
    name: stored.name,
    tableId: stored.tableId,
    state: stored.state,
    description: stored.description,
    schema: stored.schema,
    ttlGeneration: stored.ttlGeneration,
    indexes: (stored.indexes ?? []).map(readIndex),
    hasBuiltInIndex: stored.hasBuiltInIndex ?? true,
    replication: readReplication(stored),
  }
  const shards = stored.format === FORMAT ? undefined : (stored.shards ?? []).map(rangeOf)
  return { record, shards }
}

/** Keys of one table's shards begin with it, and of no other table's. */
export function shardPrefix(tableId: string): string {
  return `${SHARD_PREFIX}${tableId}/`
}

export function shardKey(tableId: string, id: ShardId): string {
  return shardPrefix(tableId) + id
}

/** The table that a key of a shard belongs to. */
export function tableIdOfShardKey(key: string): string {
  return key.slice(SHARD_PREFIX.length).split('/')[0] ?? ''
}

export function encodeShard({ id, range }: ShardRecord): Buffer {
  const start = range.start.toString('base64')
  const end = range.end?.toString('base64') ?? null
  const stored: StoredShard = { format: SHARD_FORMAT, id, start, end }
  return Buffer.from(JSON.stringify(stored))
}

export function decodeShard(bytes: Buffer): ShardRecord {
  const stored: StoredShard = JSON.parse(bytes.toString())
  if (stored.format === SHARD_FORMAT) return rangeOf(stored)
  throw new ServiceError('CORRUPTION', `shard record: unknown format ${stored.format}`)
}

function rangeOf({ id, start, end }: StoredRange): ShardRecord {
  return {
    id: parseShardId(id),
    range: {
      start: Buffer.from(start, 'base64'),
      end: end === null ? undefined : Buffer.from(end, 'base64'),
    },
  }
}

function readIndex(stored: StoredIndex | FormerIndex): IndexDefinition {
  if ('kind' in stored) return { id: NO_INDEX_ID, ...stored }
  return { id: NO_INDEX_ID, kind: TEXT_INDEX.kind, name: stored.name, memOnly: stored.memOnly }
}

function readReplication({
  replicationFactor,
  minInSync,
}: StoredTable): TableReplication | undefined {
  if (replicationFactor === undefined || minInSync === undefined) return undefined
  return { replicationFactor, minInSync }
}
