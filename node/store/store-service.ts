// The store as the HTTP API calls it. The API parses requests and serialises answers; everything else
// happens behind this interface, whether shards are in this process or on other machines.

import type { IndexStatusOptions } from '../shard/following/index-health.ts'
import type { HeldMemory } from '../../lib/http/request-memory.ts'
import type { Projection } from '../document/projection.ts'
import type { ReadClaim, TableWrites } from '../document/writes.ts'
import type { QueryRequest } from '../query/request/query-request.ts'
import type { QueryResult } from '../search/run/query-result.ts'
import type { Aged } from '../reads/stale-reads.ts'
import type { ClusterStatus } from '../steering/cluster-status.ts'
import type { MergeRequest, MergeResult } from '../transactions/writes/linear-merge-request.ts'
import type { ScanCallOptions, ScanRequest } from '../reads/scan-request.ts'
import type { StoredDocument } from '../reads/table-reader.ts'
import type { WriteOptions } from '../transactions/write-options.ts'
import type { CommitResult, WriteCounts } from '../transactions/writes/request-writer.ts'
import type {
  CreatedIndex,
  IndexInfo,
  TableInfo,
  TableStatus,
} from '../catalog/tables/table-answers.ts'
import type { CreateTableRequest } from '../catalog/admin/create-table-request.ts'

/**
 * `signal` aborts the query when the client has gone: it stops working and rejects with CANCELLED.
 */
export interface QueryOptions {
  readonly signal: AbortSignal
  /** Charged with the documents of the answer. */
  readonly memory?: HeldMemory
  /** Whether any replica may answer. Default: only what is as new as `query` promises. */
  readonly isStale?: boolean
}

/**
 * The document store as one thing.
 *
 * Contract:
 * - Every write is atomic over all its tables and shards, and durable when the promise resolves.
 * - A refusal is a ServiceError that names the field or the key, and nothing has changed: NOT_FOUND
 *   (unknown table), INVALID_ARGUMENT (schema, limits), CONFLICT (a contended key, retry later),
 *   DISK_FULL, UNAVAILABLE. An OCC conflict is a value, not an error.
 * - `lookup` sees every write acknowledged before the call. It returns a value instead of a
 *   promise when it can answer at once, because this is the hottest path of the product.
 * - `scan` yields NDJSON pages (whole lines, each with its line feed) in byte order of the keys, all
 *   at one timestamp, and does no work ahead of the consumer beyond one page. It refuses (unknown
 *   table, bad range) before the first page. What it holds while the consumer waits is charged to `memory`.
 * - `query` finds documents as far as the table's full-text index has read the log, and returns them
 *   as they are now. The result names a shard that cannot serve. It rejects when all shards fail,
 *   with DEADLINE_EXCEEDED after the timeout, and with INVALID_ARGUMENT when a field cannot answer
 *   the query or the documents of the page have more than 64 MiB.
 */
export interface StoreService {
  createTable(name: string, request: CreateTableRequest): Promise<TableInfo>
  listTables(filter: { readonly prefix?: string }): Promise<readonly TableStatus[]>
  getTable(name: string): Promise<TableStatus>
  dropTable(name: string): Promise<void>
  /** Replaces the schema; the version goes up when anything but dynamic templates changed. */
  updateSchema(name: string, schema: unknown): Promise<TableInfo>

  listIndexes(table: string): Promise<readonly IndexInfo[]>
  getIndex(table: string, index: string, options?: IndexStatusOptions): Promise<IndexInfo>
  /** Resolves when the index exists. It indexes the table's documents in the background. */
  createIndex(table: string, index: string, config: unknown): Promise<CreatedIndex>
  /** Resolves when the files of the index are gone from the disk. */
  dropIndex(table: string, index: string): Promise<void>

  batch(writes: TableWrites, options: WriteOptions): Promise<WriteCounts>
  crossBatch(
    writes: readonly TableWrites[],
    options: WriteOptions,
  ): Promise<Readonly<Record<string, WriteCounts>>>
  commit(
    readSet: readonly ReadClaim[],
    writes: readonly TableWrites[],
    options: WriteOptions,
  ): Promise<CommitResult>
  merge(table: string, request: MergeRequest): Promise<MergeResult>

  lookup(
    table: string,
    key: Buffer,
  ): StoredDocument | undefined | Promise<StoredDocument | undefined>
  /**
   * The special members of a document (document/special-names.ts) that the projection leaves, as a JSON object;
   * empty for an absent document.
   */
  lookupSpecial(table: string, key: Buffer, projection: Projection): Promise<string>
  scan(
    table: string,
    request: ScanRequest,
    options: ScanCallOptions,
  ): Promise<AsyncIterable<Buffer>>
  /** As `lookup` and `scan`, by any replica: at one time of the past for all shards, also without leaders. */
  lookupStale(table: string, key: Buffer): Promise<Aged<StoredDocument | undefined>>
  scanStale(
    table: string,
    request: ScanRequest,
    options: ScanCallOptions,
  ): Promise<Aged<AsyncIterable<Buffer>>>
  /** Searches `table` and ignores `request.table`: the caller has chosen the table before. */
  query(table: string, request: QueryRequest, options: QueryOptions): Promise<QueryResult>

  status(): Promise<ClusterStatus>
  /** True once every table is open and recovery has looked at every shard. */
  ready(): boolean
}
