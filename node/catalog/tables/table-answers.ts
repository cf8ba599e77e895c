// Tables and their indexes as the answers of the HTTP contract describe them.

import type { TableSchema } from '../../schema/table-schema.ts'

/** A shard as the HTTP contract describes it to clients. */
export interface ShardInfo {
  /** Base64 of the first key and of the key after the last; "" and "/w==" (0xFF) at the ends. */
  readonly byte_range: readonly [start: string, end: string]
}

/**
 * The configuration of an index, as in the HTTP contract, with what its kind has set. `mem_only`
 * absent means false.
 */
export interface IndexConfig extends Readonly<Record<string, unknown>> {
  readonly name: string
  readonly type: string
  readonly mem_only?: boolean
}

/**
 * The state of an index on one shard, or over all shards of a table. Counts over all shards are
 * sums.
 */
export interface IndexStatusInfo {
  readonly index_type: string
  readonly total_indexed: number
  /** Bytes. */
  readonly disk_usage: number
  readonly rebuilding: boolean
  /** From 0 to 1. */
  readonly backfill_progress: number
  readonly backfill_items_processed: number
  /** Empty when all is well. */
  readonly error: string
  readonly documents_set_aside: number
  /** Documents that searches may lack, or show as they were. */
  readonly documents_behind: number
  readonly dropped_values: DroppedValuesInfo
  /** Over all shards of an index of words. */
  readonly dynamic_fields?: DynamicFieldsInfo
  /** Absent where clients write the vectors. */
  readonly enrichment?: EnrichmentInfo
  /** Over all shards; absent when there are none. */
  readonly warnings?: readonly string[]
}

/** How far vectors are that the store makes. */
export interface EnrichmentInfo {
  readonly pending: number
  readonly enriched: number
  readonly parked: number
  readonly retrying: number
  /** From 0 to 1. */
  readonly progress: number
  /** Empty when all is well. */
  readonly error: string
}

/** The fields of a table that no schema describes and that queries may name. */
export interface DynamicFieldsInfo {
  readonly count: number
  readonly is_full: boolean
  /** The first of them, in the status of a table. */
  readonly fields?: readonly { readonly name: string; readonly kind: string }[]
}

/** A document without a vector, because none could be made. */
export interface ParkedInfo {
  readonly _id: string
  readonly attempts: number
  readonly error: string
}

/**
 * Values that an index left out: `bad_values` did not fit their field, `over_limit` exceeded a
 * limit.
 */
export interface DropCountsInfo {
  readonly bad_values: number
  readonly over_limit: number
}

/** Since the index was opened or built. */
export interface DroppedValuesInfo extends DropCountsInfo {
  /** By field, for those that lost most. */
  readonly fields: Readonly<Record<string, DropCountsInfo>>
}

/** An index with its state over the whole table and on each shard. */
export interface IndexInfo {
  readonly config: IndexConfig
  readonly status: IndexStatusInfo
  /** The first parked documents, if they were asked for. */
  readonly parked_documents?: readonly ParkedInfo[]
  /** By shard id in hexadecimal. */
  readonly shard_status: Readonly<Record<string, IndexStatusInfo>>
}

/** An index that was just created. */
export type CreatedIndex = Pick<IndexInfo, 'config'>

/**
 * A table as the HTTP contract describes it. `schema` absent means that every object is accepted.
 */
export interface TableInfo {
  readonly name: string
  readonly description?: string
  readonly indexes: Readonly<Record<string, IndexConfig>>
  /** By shard id in hexadecimal. */
  readonly shards: Readonly<Record<string, ShardInfo>>
  readonly schema?: TableSchema
  /** The replicas of each shard that the table wants. */
  readonly replication_factor: number
  /** With fewer replicas in sync, a shard takes no writes. */
  readonly min_in_sync: number
}

/**
 * A table with its size in bytes. `migration` is absent while all indexes answer by its schema, and what indexes
 * tell is absent where one of them does not tell soon.
 */
export interface TableStatus extends TableInfo {
  readonly storage_status: {
    readonly disk_usage: number
    readonly empty: boolean
    readonly index_disk_usage?: number
  }
  readonly approximate_documents?: number
  readonly documents_behind?: number
  /** Absent in lists of tables. */
  readonly dynamic_fields?: DynamicFieldsInfo
  readonly migration?: TableMigration
}

/** Indexes that are built again because the schema changed. */
export interface TableMigration {
  readonly indexes: readonly string[]
  /** From 0 to 1, of the shard that is furthest behind. */
  readonly progress: number
}
