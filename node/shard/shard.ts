import type { DropReport } from '../index/text/mapping/dropped-values.ts'
import type { Timestamp } from '../clock/hybrid-clock.ts'
import type {
  Highlights,
  TextHighlightRequest,
  TextSearchAnswer,
  TextSearchRequest,
  TextStatistics,
  TextStatisticsRequest,
} from '../index/text/search/text-search.ts'
import type { SearchLimits } from '../index/text/worker/remote-text-index.ts'
import type {
  DecideCommand,
  Decision,
  PrepareCommand,
  PrepareOutcome,
  ResolveCommand,
  TransactionStatus,
  WriteCommand,
  WriteOutcome,
} from './apply/command.ts'
import type { DocumentRecord } from './format/document-record.ts'
import type { KeyRange } from './key-range.ts'
import type { ShardId } from './shard-id.ts'
import type { ProposalFate } from './proposal.ts'
import type { TransactionId } from './transaction-id.ts'

export interface ScanRow {
  readonly key: Buffer
  readonly record: DocumentRecord
}

export interface ScanOptions {
  readonly range: KeyRange
  readonly at: Timestamp
  readonly signal: AbortSignal
}

/** How long a caller waits. */
export interface CallOptions {
  readonly signal?: AbortSignal | undefined
}

export interface DecideOptions extends CallOptions {
  /** Refused with UNAVAILABLE when one of these prepares was lost. */
  readonly after?: readonly ProposalFate[]
}

/** The outcome stands once what was applied is durable; `fate` is undefined when it is already. */
export interface PreparedInOrder {
  readonly outcome: PrepareOutcome
  readonly fate: ProposalFate | undefined
}

export interface ShardStats {
  readonly diskBytes: number
  readonly empty: boolean
}

/** What an index is at when it does not simply follow the log. */
export interface TextIndexActivity {
  readonly kind: 'none' | 'building' | 'catching_up' | 'failed'
  /** Undefined where there is none to tell. */
  readonly reason: string | undefined
}

/** How an index of a shard does, as far as the shard itself knows. */
export interface TextIndexHealth {
  readonly name: string
  readonly activity: TextIndexActivity
  /** Whether searches are answered, be it by the version of an earlier schema. */
  readonly answers: boolean
  /** Log entries that searches do not show yet. */
  readonly entriesBehind: number
}

export interface TextIndexStatus {
  readonly totalIndexed: number
  /** Bytes. */
  readonly diskUsage: number
  readonly rebuilding: boolean
  /** From 0 to 1. */
  readonly backfillProgress: number
  readonly backfillItemsProcessed: number
  readonly error: string | undefined
  /** Left out, because the index's worker hung or ended at them, twice. */
  readonly documentsSetAside: number
  /** Since the index was opened or built. */
  readonly dropped: DropReport
}

/** What a shard is able to do. */
export type ShardCondition =
  | { readonly kind: 'serving' }
  | { readonly kind: 'read_only'; readonly reason: string }
  | { readonly kind: 'failed'; readonly reason: string }

export interface ResolveOptions {
  /** False: it may wait some milliseconds for others to share a write of the disk with. Default true. */
  readonly isAwaited?: boolean
  /** Called when the keys are free, which is before that is durable. */
  readonly onReleased?: () => void
}

/** The question of somebody who met a hold. */
export interface Push {
  readonly transactionId: TransactionId
  /** The key whose shard keeps the record. */
  readonly anchor: Buffer
  /** If the transaction is undecided, it will commit above this. */
  readonly above: Timestamp
  /** Whether the hold is old enough for its transaction to be aborted, if it has been silent too. */
  readonly expired: boolean
}

/**
 * One key range of one table. The coordinator knows shards by this interface alone, so the same
 * code drives a shard in this process and one on another machine.
 *
 * Contract:
 * - Whatever a method answers is durable before it answers. A rejection of a write means that its
 *   outcome is unknown unless the code is INVALID_ARGUMENT, DISK_FULL or OVERLOADED (then: nothing).
 * - A method that is given a signal rejects with its reason as soon as it aborts. A signal that had
 *   aborted before the call keeps it from proposing anything. What was proposed by then may still
 *   happen, so the outcome of a write is unknown, and nothing is kept for the caller who left.
 * - `read` answers the newest committed document, or undefined for one that is absent, deleted or
 *   expired; it sees every write acknowledged before the call and never half a transaction. It
 *   answers without a promise when it need not ask anybody, whatever its signal says.
 * - `heartbeat` shows that the coordinator of a transaction lives; of an unknown one it means nothing.
 * - `write` and `prepare` check, then apply, in one step: nothing comes between. Refusals are values.
 * - `prepare`, `decide`, `resolve` and `forget` may be repeated and come late: a decided
 *   transaction stays as it was decided (INV-T1), and nothing appears after its end (INV-T7).
 * - `prepareInOrder` answers earlier than `prepare`: what it promises is durable before any decision
 *   that is proposed with its fate, on a shard of the same `durableOrder`.
 * - `resolve` frees the keys before it answers; \`hurry\` ends every wait for company.
 * - `push` raises the commit timestamp of a pending transaction above `above` and tells its state;
 *   with `expired` it aborts one that was never begun, so that it can never begin (INV-T5, A.7.4).
 * - `scan` walks the range at one timestamp, in key order, in pages; it takes its view at the call.
 * - `searchText`, `textStatistics` and `highlightText` are refused with NOT_FOUND for an unknown
 *   index, and with UNAVAILABLE while it is built for the first time or again.
 * - `waitForText` resolves when everything committed here before the call is searchable in every
 *   text index; it rejects with the signal's reason.
 * - `waitForRelease` resolves when the transaction no longer holds keys here, or after `timeoutMs`.
 */
export interface Shard {
  readonly id: ShardId
  readonly range: KeyRange
  /** Shards of one order: what one of them makes durable first, is durable first. */
  readonly durableOrder: object | undefined

  read(
    key: Buffer,
    options?: CallOptions,
  ): DocumentRecord | undefined | Promise<DocumentRecord | undefined>
  scan(options: ScanOptions): Promise<AsyncIterable<readonly ScanRow[]>>

  write(command: WriteCommand, options?: CallOptions): Promise<WriteOutcome>
  prepare(command: PrepareCommand, options?: CallOptions): Promise<PrepareOutcome>
  prepareInOrder(command: PrepareCommand, options?: CallOptions): Promise<PreparedInOrder>
  decide(command: DecideCommand, options?: DecideOptions): Promise<Decision>
  resolve(command: ResolveCommand, options?: ResolveOptions): Promise<void>
  forget(transactionId: TransactionId, anchor: Buffer): Promise<void>
  push(push: Push, options?: CallOptions): Promise<TransactionStatus>
  heartbeat(transactionId: TransactionId, options?: CallOptions): Promise<void>
  hurry(): void
  waitForRelease(
    transactionId: TransactionId,
    options: { readonly timeoutMs: number; readonly signal?: AbortSignal },
  ): Promise<void>

  searchText(
    index: string,
    request: TextSearchRequest,
    limits: SearchLimits,
  ): Promise<TextSearchAnswer>
  textStatistics(
    index: string,
    request: TextStatisticsRequest,
    limits: SearchLimits,
  ): Promise<TextStatistics>
  highlightText(
    index: string,
    request: TextHighlightRequest,
    limits: SearchLimits,
  ): Promise<readonly (Highlights | undefined)[]>
  textIndexStatus(index: string): Promise<TextIndexStatus>
  waitForText(options: { readonly signal: AbortSignal }): Promise<void>

  stats(options?: CallOptions): Promise<ShardStats>
  state(options?: CallOptions): Promise<ShardCondition>
}
