import type { DropReport } from '../../index/host/drop-report.ts'
import type { DocumentsBehind } from './documents-behind.ts'
import type { EnrichmentStatus } from './shard-enrichers.ts'

/** The activity of an index; `none` while it just follows the log. */
export interface IndexActivity {
  readonly kind: 'none' | 'building' | 'catching_up' | 'failed'
  /** Why it is built or failed; undefined where there is no particular reason. */
  readonly reason: string | undefined
}

/** The version of an index that answers searches, as `indexVersionOf` makes it from a schema. */
export interface AnsweringVersion {
  readonly index: string
  readonly version: number
}

/** The health of an index of a shard, told without asking its worker. */
export interface IndexHealth {
  readonly name: string
  readonly kind: string
  readonly activity: IndexActivity
  /** Whether searches are answered, perhaps by the version of an earlier schema. */
  readonly answers: boolean
  /** Log entries that searches do not show yet. */
  readonly entriesBehind: number
  /** Documents that searches may lack. */
  readonly behind: DocumentsBehind
}

/** The state of an index of a shard, told by its worker. */
export interface IndexStatus {
  readonly totalIndexed: number
  /** Bytes. */
  readonly diskUsage: number
  readonly rebuilding: boolean
  /** From 0 to 1. */
  readonly backfillProgress: number
  readonly backfillItemsProcessed: number
  readonly error: string | undefined
  /** The number of documents that the index leaves out, because its worker hung or ended at them twice. */
  readonly documentsSetAside: number
  /** Since the index was opened or built. */
  readonly dropped: DropReport
  /** How the artifacts are made, told by the leader; undefined where clients write them. */
  readonly enrichment: EnrichmentStatus | undefined
  /** Documents that searches may lack. */
  readonly behind: DocumentsBehind
}

/** What a caller wants to know of an index. */
export interface IndexStatusOptions {
  /** How many parked documents to list. Default: none. */
  readonly parkedMax?: number
}
