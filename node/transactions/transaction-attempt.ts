import { must } from '../../lib/assert.ts'
import { TIMESTAMP_ZERO, type Timestamp } from '../clock/hybrid-clock.ts'
import type {
  KeyInterval,
  PrepareOutcome,
  Refusal,
  ShardAddress,
} from '../shard/command/command.ts'
import type { ProposalFate } from '../shard/proposal.ts'
import type { PreparedInOrder, Shard } from '../shard/shard.ts'
import type { TransactionId } from '../shard/command/transaction-id.ts'
import type { TransactionConflict } from './run-outcome.ts'
import { addressOf, type TransactionPart } from './transaction-part.ts'

interface AttemptOptions {
  readonly transactionId: TransactionId
  /** One of `parts`: its shard keeps the transaction record. */
  readonly anchor: TransactionPart
  readonly parts: readonly TransactionPart[]
  /** The key interval of each part. */
  readonly participants: readonly KeyInterval[]
}

/** One try to commit under one transaction id, with all that recovery would need to finish it. */
export class TransactionAttempt {
  readonly transactionId: TransactionId
  readonly anchor: ShardAddress
  readonly participants: readonly KeyInterval[]
  readonly anchorShard: Shard
  /**
   * Whether the runner may propose the decision before the prepares are durable. It may if all shards
   * share one durable order, because the decision then becomes durable after the prepares. Such a
   * transaction waits for one or two syncs of the journal.
   */
  readonly isInOrder: boolean

  constructor({ transactionId, anchor, parts, participants }: AttemptOptions) {
    this.transactionId = transactionId
    this.anchor = addressOf(anchor)
    this.anchorShard = anchor.shard
    this.participants = participants
    const order = anchor.shard.durableOrder
    this.isInOrder = order !== undefined && parts.every(({ shard }) => shard.durableOrder === order)
  }
}

/** What one shard answered to the prepare of an attempt. `finished`: the attempt was aborted before. */
export type PrepareResult =
  | (Extract<PrepareOutcome, { kind: 'prepared' }> & Pick<PreparedInOrder, 'fate'>)
  | Extract<PrepareOutcome, { kind: 'finished' }>
  | TransactionConflict
  | HeldPart

/** A part that could not prepare, because another transaction holds one of its keys. */
export interface HeldPart {
  readonly kind: 'held'
  readonly part: TransactionPart
  readonly refusal: KeyHeld
}

/** A shard's refusal that names the transaction in the way. */
export type KeyHeld = Extract<Refusal, { kind: 'key-held' }>

/** The part whose shard keeps the record: the first that writes, or the first if all only read. */
export function anchorOf(parts: readonly TransactionPart[]): TransactionPart {
  return must(parts.find(({ ops }) => ops.length > 0) ?? parts[0], 'a part of the transaction')
}

/** The prepares that the decision relies on and that are not durable yet. */
export function fatesOf(prepared: readonly PrepareResult[]): readonly ProposalFate[] {
  return prepared.flatMap((one) =>
    one.kind === 'prepared' && one.fate !== undefined ? [one.fate] : [],
  )
}

/** The lowest commit timestamp that every participant accepts. */
export function commitAtLeastOf(prepared: readonly PrepareResult[]): Timestamp {
  return prepared.reduce(
    (max, result) =>
      result.kind === 'prepared' && result.commitAtLeast > max ? result.commitAtLeast : max,
    TIMESTAMP_ZERO,
  )
}
