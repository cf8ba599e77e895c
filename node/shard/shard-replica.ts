import type { Timestamp } from '../clock/hybrid-clock.ts'
import type {
  IndexAnswer,
  IndexRequest,
  QueryableKind,
  QuestionOf,
} from '../index/kinds/index-questions.ts'
import type { DocumentRecord } from './format/document-record.ts'
import type {
  PlacedAnswer,
  SearchFromLimits,
  ShardSearchLimits,
} from './following/index-position.ts'
import type { CallOptions, ScanOptions, ScanRow } from './shard.ts'

/** A document as it was at a time; undefined if it was absent then, or has expired since. */
export interface DatedRecord {
  readonly at: Timestamp
  readonly record: DocumentRecord | undefined
}

/** When a document is read: undefined at the newest time that the replica can show. */
export interface ReadAtOptions extends CallOptions {
  readonly at?: Timestamp | undefined
}

/** The limits of a search, and the log entry that the index must have read; 0: any index that serves. */
export interface ReplicaSearchLimits extends ShardSearchLimits {
  readonly atLeast: number
}

/**
 * One replica of a shard, whether it leads or follows. It answers from what it has and asks nobody, so it
 * answers while its leader is dead and the control plane away.
 *
 * Contract:
 * - `closedTime` is the newest time of which this replica shows everything. It never goes back while the
 *   replica runs. It is refused with UNAVAILABLE while the replica knows no such time, as after its start.
 * - `readAt` and `scanAt` show the documents as they were at that time, every transaction whole or not at all:
 *   what the leader would have shown, and the same at every replica. A time above the closed one is refused
 *   with UNAVAILABLE, one below the collected history with HISTORY_GONE,
 *   a key of another shard with RANGE_MOVED.
 * - Documents that have expired by now are left out.
 * - `searchHere` is `Shard.search` of this replica's index. It is refused with UNAVAILABLE while that is being
 *   built, or has not read the entry `atLeast`.
 * - `searchFrom` does the same from a position that the leader told (`Shard.indexPosition`), and says how much the
 *   answer may show. It waits a moment for an index that is behind.
 */
export interface ShardReplica {
  closedTime(options?: CallOptions): Promise<Timestamp>
  readAt(key: Buffer, options?: ReadAtOptions): Promise<DatedRecord>
  scanAt(options: ScanOptions): Promise<AsyncIterable<ScanRow[]>>
  searchHere<Kind extends QueryableKind, Name extends QuestionOf<Kind>>(
    index: string,
    request: IndexRequest<Kind, Name>,
    limits: ReplicaSearchLimits,
  ): Promise<IndexAnswer<Kind, Name>>
  searchFrom<Kind extends QueryableKind, Name extends QuestionOf<Kind>>(
    index: string,
    request: IndexRequest<Kind, Name>,
    limits: SearchFromLimits,
  ): Promise<PlacedAnswer<IndexAnswer<Kind, Name>>>
}
