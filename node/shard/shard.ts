import type { Timestamp } from '../clock/hybrid-clock.ts'
import type { IndexClient } from '../index/host/index-client.ts'
import type {
  BehindHearer,
  PositionLimits,
  ShardSearchLimits,
  ToldPosition,
} from './following/index-position.ts'
import type {
  IndexAnswer,
  IndexRequest,
  QueryableKind,
  QuestionOf,
} from '../index/kinds/index-questions.ts'
import type {
  DecideCommand,
  Decision,
  PrepareCommand,
  PrepareOutcome,
  ResolveCommand,
  TransactionStatus,
  WriteCommand,
  WriteOutcome,
} from './command/command.ts'
import type { AnsweringVersion, IndexStatus, IndexStatusOptions } from './following/index-health.ts'
import type { DocumentRecord } from './format/document-record.ts'
import type { KeyRange } from './command/key-range.ts'
import type { ShardId } from './shard-id.ts'
import type { ProposalFate } from './proposal.ts'
import type { TransactionId } from './command/transaction-id.ts'

/** A document that a scan found. */
export interface ScanRow {
  readonly key: Buffer
  readonly record: DocumentRecord
}

/** A scan of `range` at the timestamp `at`. It ends with the signal's reason when that aborts. */
export interface ScanOptions {
  readonly range: KeyRange
  readonly at: Timestamp
  readonly signal: AbortSignal
}

/** As `ScanOptions`; without a timestamp, the shard takes its `moment` of the range, and `onMoment` hears it. */
export interface ShardScanOptions extends Omit<ScanOptions, 'at'> {
  readonly at?: Timestamp | undefined
  readonly onMoment?: ((at: Timestamp) => void) | undefined
}

/** The oldest time at which a node reads. */
export interface HistoryPin {
  /** The id of the node: one pin of a reader replaces its earlier one. */
  readonly reader: string
  readonly at: Timestamp
}

/** How long a caller waits. */
export interface CallOptions {
  readonly signal?: AbortSignal | undefined
}

/** How long a caller waits for a decision, and the prepares that the decision relies on. */
export interface DecideOptions extends CallOptions {
  /** Refused with UNAVAILABLE when one of these prepares was lost. */
  readonly after?: readonly ProposalFate[]
}

/** The outcome holds once its entry is durable. `fate` is undefined if it is durable already. */
export interface PreparedInOrder {
  readonly outcome: PrepareOutcome
  readonly fate: ProposalFate | undefined
}

/** The size of a shard in bytes, whether readers find no document in it, and by what its indexes answer. */
export interface ShardStats {
  readonly diskBytes: number
  readonly empty: boolean
  readonly indexVersions: readonly AnsweringVersion[]
}

/**
 * Whether a shard serves everything, only reads, or nothing; `reason` tells people why. `documentsBehind` is what
 * searches of the index that lacks most may lack.
 */
export type ShardCondition =
  | { readonly kind: 'serving'; readonly documentsBehind: number }
  | { readonly kind: 'read_only'; readonly reason: string; readonly documentsBehind: number }
  | { readonly kind: 'failed'; readonly reason: string }

/** How the caller of `resolve` waits. */
export interface ResolveOptions {
  /** False: the resolution may wait some milliseconds to share a write of the disk. Default true. */
  readonly isAwaited?: boolean
  /** Called when the keys are free. That is before the resolution is durable. */
  readonly onReleased?: () => void
}

/** The question of a reader or writer that met a hold. */
export interface Push {
  readonly transactionId: TransactionId
  /** The key whose shard keeps the record. */
  readonly anchor: Buffer
  /** An undecided transaction will commit above this. */
  readonly above: Timestamp
  /** Whether the hold is old. The shard then aborts the transaction if its coordinator is silent too. */
  readonly expired: boolean
}

/** The documents and the indexes (`IndexDefinition.id`) whose artifacts a caller asks for. */
export interface ArtifactsAsked {
  readonly keys: readonly Buffer[]
  readonly indexes: readonly string[]
}

/** The artifacts of one document (embedding/artifact.ts), in the order of the indexes; undefined where it has none. */
export type FoundArtifacts = readonly (Buffer | undefined)[]

/**
 * One key range of one table. The coordinator knows shards by this interface alone, so the same
 * code drives a shard in this process and one on another machine.
 *
 * Contract:
 * - A method answers after its effects are durable. If a write rejects, its outcome is unknown, unless
 *   the code is INVALID_ARGUMENT, DISK_FULL, OVERLOADED, TOO_FEW_IN_SYNC, NOT_LEADER or RANGE_MOVED: then
 *   nothing happened. NOT_LEADER means that another replica leads, RANGE_MOVED that another shard owns a key of
 *   the call; a retry there is safe. The shard refuses the whole call for one such key.
 * - A method with a signal rejects with its reason as soon as the signal aborts. If it had aborted
 *   before the call, the method proposes nothing. A proposal made before the abort may still take
 *   effect, so the outcome of a write is unknown.
 * - `read` answers the newest committed document, or undefined for one that is absent, deleted or
 *   expired; it sees every write acknowledged before the call and never half a transaction. It
 *   answers without a promise when it need not ask anybody, whatever its signal says.
 * - `artifacts` answers what indexes keep of documents, as of every write acknowledged before the call: of the
 *   first keys, at least one, and as many as fit into about a mebibyte. A committed transaction's whole part of a
 *   key is seen, or nothing of it. Documents have no earlier artifacts: a scan at a past timestamp shows the newest.
 * - `heartbeat` shows that the coordinator of a transaction lives. An unknown transaction is ignored.
 * - `write` and `prepare` check, then apply, in one step: nothing comes between. Refusals are values.
 * - `prepare`, `decide`, `resolve` and `forget` may be repeated and come late: a decided
 *   transaction stays as it was decided (INV-T1), and nothing appears after its end (INV-T7).
 * - `prepareInOrder` answers before its entry is durable. The entry becomes durable before any decision
 *   that is proposed with its fate on a shard of the same `durableOrder`.
 * - `resolve` frees the keys before it answers.
 * - `hurry` ends waits for shared writes of the disk, as `isAwaited: false` allows them.
 * - `push` raises the commit timestamp of a pending transaction above `above` and tells its state;
 *   with `expired` it aborts one that was never begun, so that it can never begin (INV-T5, A.7.4).
 * - `moment` answers a timestamp that is not below the commit of anything in the range that was acknowledged
 *   before the call, whatever clocks gave it. It answers without a promise when it need not ask anybody.
 * - `scan` walks the range at one timestamp, in key order, in pages; it takes its view at the call. A
 *   scan below the collected history is refused with HISTORY_GONE, also after a restart.
 * - `pinHistory` keeps what scans at the time or later see, for PIN_LEASE_MS from the call on, against all collection
 *   by this leader. A leader that follows it collects nothing for PIN_LEASE_MS, so that a reader that pins again in that
 *   time is kept. Refused with HISTORY_GONE if some of it is, or may just be, collected.
 * - `search` asks an index a question of its kind (index/kinds/index-questions.ts), within the limits. Nobody
 *   else led the shard when it was asked. It finds what `waitForIndexes` promised, also under an earlier leader. It
 *   is refused with NOT_FOUND for an unknown index, with INVALID_ARGUMENT for one of another kind, and with
 *   UNAVAILABLE while the index is built for the first time or again, or is behind an earlier leader's.
 *   `onBehind` hears of committed documents that the answer may lack, or show as they were before: at least as many as
 *   there are (following/documents-behind.ts).
 * - `indexAtOnce` is the index that `search` would ask in the same turn, of which the caller then asks the question
 *   in that turn; `onBehind` is called as by `search`. Undefined, or absent, if `search` has to wait for anything, or
 *   would ask another node.
 * - `indexPosition` answers where the index is for `search`: an index of another replica with this version that
 *   has read this entry shows all that a search shows which ended before the call. Every search that begins after
 *   the answer shows the entry. With `atLeast` it waits a moment for the index to come so far, and may answer a
 *   lower one. Refused as `search`, but it does not wait for an index that does not serve. `behind` is what
 *   `onBehind` would hear of a search from there.
 * - `waitForIndexes` resolves when everything committed here before the call is searchable in every
 *   index; it rejects with the signal's reason.
 * - `waitForRelease` resolves when the transaction no longer holds keys here, or after `timeoutMs`.
 */
export interface Shard {
  readonly id: ShardId
  readonly range: KeyRange
  /**
   * Shards with the same object become durable in one order, as those that share a journal. Undefined:
   * the order is unknown.
   */
  readonly durableOrder: object | undefined

  read(
    key: Buffer,
    options?: CallOptions,
  ): DocumentRecord | undefined | Promise<DocumentRecord | undefined>
  artifacts(asked: ArtifactsAsked, options?: CallOptions): Promise<readonly FoundArtifacts[]>
  moment(range: KeyRange, options?: CallOptions): Timestamp | Promise<Timestamp>
  scan(options: ShardScanOptions): Promise<AsyncIterable<ScanRow[]>>
  pinHistory(pin: HistoryPin, options?: CallOptions): Promise<void>

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

  search<Kind extends QueryableKind, Name extends QuestionOf<Kind>>(
    index: string,
    request: IndexRequest<Kind, Name>,
    limits: ShardSearchLimits,
  ): Promise<IndexAnswer<Kind, Name>>
  indexAtOnce?(index: string, kind: QueryableKind, limits: BehindHearer): IndexClient | undefined
  indexPosition(index: string, limits: PositionLimits): Promise<ToldPosition>
  indexStatus(index: string, options?: IndexStatusOptions): Promise<IndexStatus>
  waitForIndexes(options: { readonly signal: AbortSignal }): Promise<void>

  stats(options?: CallOptions): Promise<ShardStats>
  state(options?: CallOptions): Promise<ShardCondition>
}
