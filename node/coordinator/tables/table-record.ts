// What the coordination store holds for a table. Described in docs/formats/catalog.md.

import { ServiceError } from '../../../lib/errors.ts'
import type { IndexDefinition } from '../../index/host/index-definition.ts'
import type { TableSchema } from '../../schema/table-schema.ts'
import type { KeyRange } from '../../shard/key-range.ts'
import { parseShardId, type ShardId } from '../../shard/shard-id.ts'

const FORMAT = 2
/** Had no other indexes than full-text ones. */
const FORMER_FORMAT = 1
export const TABLE_PREFIX = '/tables/'

/**
 *   creating ──stores exist──► ready ──drop──► dropping ──transactions ended──► (gone)
 *
 * `dropping` is a state of its own, because a table may anchor transactions that other tables still
 * have to learn the outcome of.
 */
export type TableState = 'creating' | 'ready' | 'dropping'

export interface ShardRecord {
  readonly id: ShardId
  readonly range: KeyRange
}

export interface TableRecord {
  readonly name: string
  /** Never used again, not even by a later table of the same name. */
  readonly tableId: string
  readonly state: TableState
  readonly description: string | undefined
  readonly schema: TableSchema | undefined
  /** Goes up when ttl_duration or ttl_field change; 0 is never used by a policy. */
  readonly ttlGeneration: number
  /** Those that clients added, beside the built-in one. */
  readonly indexes: readonly IndexDefinition[]
  /** False when a client dropped it, to spare a table that nobody searches. */
  readonly hasBuiltInIndex: boolean
  readonly shards: readonly ShardRecord[]
}

/** An index in a record of format 1. */
interface FormerIndex {
  readonly type: 'full_text'
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
  readonly indexes?: readonly (IndexDefinition | FormerIndex)[]
  readonly hasBuiltInIndex?: false
  readonly shards: readonly { id: string; start: string; end: string | null }[]
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
    shards: table.shards.map(({ id, range }) => ({
      id,
      start: range.start.toString('base64'),
      end: range.end?.toString('base64') ?? null,
    })),
  }
  return Buffer.from(JSON.stringify(stored))
}

export function decodeTable(bytes: Buffer): TableRecord {
  const stored: StoredTable = JSON.parse(bytes.toString())
  if (stored.format !== FORMAT && stored.format !== FORMER_FORMAT) {
    throw new ServiceError('CORRUPTION', `table record: unknown format ${stored.format}`)
  }
  return {
    name: stored.name,
    tableId: stored.tableId,
    state: stored.state,
    description: stored.description,
    schema: stored.schema,
    ttlGeneration: stored.ttlGeneration,
    indexes: (stored.indexes ?? []).map(readIndex),
    hasBuiltInIndex: stored.hasBuiltInIndex ?? true,
    shards: stored.shards.map(({ id, start, end }) => ({
      id: parseShardId(id),
      range: {
        start: Buffer.from(start, 'base64'),
        end: end === null ? undefined : Buffer.from(end, 'base64'),
      },
    })),
  }
}

function readIndex(stored: IndexDefinition | FormerIndex): IndexDefinition {
  if ('kind' in stored) return stored
  return { kind: 'text', name: stored.name, memOnly: stored.memOnly }
}
