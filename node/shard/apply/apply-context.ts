import type { IndexDefinition } from '../../index/host/index-definition.ts'
import type { DocumentRules, TtlPolicy } from '../../schema/document-rules.ts'
import type { Timestamp } from '../../clock/hybrid-clock.ts'
import type { KeyInterval, TransactionStatus } from '../command/command.ts'
import type { KeyRange } from '../command/key-range.ts'
import type { LockTable } from './lock-table.ts'
import type { CommandView } from './command-view.ts'
import type { TransactionId } from '../command/transaction-id.ts'

/** A transaction whose record lies on this shard, from `begin` to `forget`. */
export interface LiveTransaction {
  readonly anchor: Buffer
  readonly participants: readonly KeyInterval[]
  status: TransactionStatus
  /** The log entry that decided it; until that is durable nobody may be told. */
  decidedAt: number | undefined
  /** Monotonic time of the last sign of life of its coordinator. */
  heardAtMs: number
}

/** The part of a shard's state that is kept in memory; all of it can be rebuilt from the store. */
export interface ShardMemory {
  readonly locks: LockTable
  readonly live: Map<TransactionId, LiveTransaction>
  /** Readers that must not see a pending transaction's commit: it has to land above. */
  readonly pushFloors: Map<TransactionId, Timestamp>
}

/** The state that applying one command may read and change. */
export interface ApplyContext {
  /** The keys that the shard owns. */
  readonly range: KeyRange
  readonly view: CommandView
  /** The rules of the table for documents that transforms make. */
  readonly rules: DocumentRules
  /** The table's policy at the proposal; a command may have been made under an earlier one. */
  readonly ttl: TtlPolicy | undefined
  /** Those of the table at the proposal. */
  readonly indexes: readonly IndexDefinition[]
  readonly memory: ShardMemory
  readonly sequence: number
  /** The leader's hybrid time for this entry: the only clock that applying may read. */
  readonly stamp: Timestamp
  /** Milliseconds of `stamp`. */
  readonly nowMs: number
  /** Only for bookkeeping of silence; never part of the outcome. */
  readonly monotonicMs: number
}
