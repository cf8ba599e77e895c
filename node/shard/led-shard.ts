// The shard at its leader, with the work that only the leader may do. In one process every shard is
// led from its opening to its close.

import type { Timestamp } from '../clock/hybrid-clock.ts'
import type { IndexDefinition } from '../index/host/index-definition.ts'
import type { TtlPolicy } from '../schema/document-rules.ts'
import type { KvStore } from '../storage/kv-store.ts'
import {
  COMMAND_BYTES,
  type Command,
  type KeyHolder,
  type KeyInterval,
  type OutcomeOf,
  type TransactionStatus,
} from './command/command.ts'
import type { ShardEnrichers } from './following/shard-enrichers.ts'
import { enrichBytes, type EnrichCommand } from './command/enrich-command.ts'
import type { Replica } from './replica.ts'
import type { LogBacklog } from './shard-log.ts'
import type { LogTally } from './following/log-tally.ts'
import type { IndexHealth } from './following/index-health.ts'
import type { Shard } from './shard.ts'
import type { ShardId } from './shard-id.ts'
import type { TableSettings } from './command/table-settings.ts'
import type { TransactionId } from './command/transaction-id.ts'

/** A transaction whose record still lies on the shard. */
export interface UnfinishedTransaction {
  readonly transactionId: TransactionId
  readonly anchor: Buffer
  readonly participants: readonly KeyInterval[]
  /** As far as it is durable: a decision that may still be lost is `pending`. */
  readonly status: TransactionStatus
  /** Since the record, its heartbeat or the shard's start, whichever is latest; monotonic time. */
  readonly idleMs: number
}

/** The operations that only the leader of a shard may call, beside those of `Shard`. */
export class LedShard {
  /** The same shard, as all nodes may call it. */
  readonly shard: Shard
  readonly #replica: Replica

  constructor(shard: Shard, replica: Replica) {
    this.shard = shard
    this.#replica = replica
  }

  get id(): ShardId {
    return this.#replica.id
  }

  get tableId(): string {
    return this.#replica.state.settings.tableId
  }

  /** The name of the table, for logs and messages. */
  get tableName(): string {
    return this.#replica.state.settings.tableName
  }

  get ttl(): TtlPolicy | undefined {
    return this.#replica.ttl
  }

  get store(): KvStore {
    return this.#replica.store
  }

  /** The indexes of the table, as far as this node has heard. */
  get indexes(): readonly IndexDefinition[] {
    return this.#replica.state.settings.indexes
  }

  /** The newest log entry whose effects are in the store. */
  get appliedSequence(): number {
    return this.#replica.appliedSequence
  }

  /** The newest log entry that nothing takes back. The store may not have it yet. */
  get committedSequence(): number {
    return this.#replica.committedSequence
  }

  /** Calls `listener` when the store has grown; it must be cheap. Returns its removal. */
  onApplied(listener: () => void): () => void {
    return this.#replica.onApplied(listener)
  }

  /** What makes the artifacts of the table's indexes. */
  get enrichers(): ShardEnrichers {
    return this.#replica.enrichers
  }

  /** The log entries above this one are still needed by an index, or by what makes its artifacts. */
  get indexedUpTo(): number {
    const indexed = this.#replica.indexes?.neededAbove ?? Infinity
    return Math.min(indexed, this.enrichers.neededAbove)
  }

  /** The time at which readers judge expiry; 0 for a table without a TTL. */
  get nowMs(): number {
    return this.#replica.nowMs
  }

  indexHealth(): readonly IndexHealth[] {
    const replica = this.#replica
    const all = [...(replica.indexes?.all ?? [])]
    return all.map((index) => ({ ...index.health(), behind: replica.behind(index) }))
  }

  /** Documents that searches of the index that lacks most may lack. */
  get documentsBehind(): number {
    return this.#replica.documentsBehind
  }

  /** How many changes the newest committed entries have. */
  get tally(): LogTally {
    return this.#replica.tally
  }

  /** The shard has no more documents than this. */
  get documentsMax(): number {
    return this.#replica.documentsMax
  }

  unfinishedTransactions(): readonly UnfinishedTransaction[] {
    const { state } = this.#replica
    return [...state.memory.live].map(([transactionId, live]) => ({
      transactionId,
      anchor: live.anchor,
      participants: live.participants,
      status: state.isDurable(live) ? live.status : { state: 'pending' },
      idleMs: this.#idleMs(live.heardAtMs),
    }))
  }

  /** The transactions that hold keys of the shard, or only those that have held one for over `ageMs`. */
  holders(ageMs?: number): readonly KeyHolder[] {
    return [...this.#replica.state.memory.locks.oldest()]
      .filter(({ heldSinceMs }) => ageMs === undefined || this.#idleMs(heldSinceMs) > ageMs)
      .map(({ intent: { transactionId, anchor } }) => ({ transactionId, anchor }))
  }

  get heldKeys(): number {
    return this.#replica.state.memory.locks.size
  }

  /** The backlog of the log, and the number of transactions whose record lies here. */
  get load(): LogBacklog & { readonly transactionRecords: number } {
    const { log, state } = this.#replica
    return { ...log.backlog, transactionRecords: state.memory.live.size }
  }

  /** Resolves when everything applied up to now is in the store, or was refused. */
  settled(): Promise<void> {
    return this.#replica.log.settled()
  }

  /**
   * Calls `collect` with the time below which history may go, now that what is older than `aged` is not kept for its
   * age: pins of readers keep more. It is not called while a leadership is new (HP2).
   */
  async collecting(aged: Timestamp, collect: (horizon: Timestamp) => Promise<void>): Promise<void> {
    const { pins, replicated } = this.#replica
    const epoch = replicated?.servedEpoch
    if (replicated !== undefined && epoch === undefined) return
    await pins.collect({ aged, epoch }, collect)
  }

  /** For housekeeping, which reads the store: answers when that shows the outcome. */
  async housekeep<Kind extends 'expire' | 'retime' | 'number' | 'collect'>(
    command: Command<Kind>,
  ): Promise<OutcomeOf[Kind]> {
    const outcome = await this.#replica.propose(command)
    await this.settled()
    return outcome
  }

  /**
   * Writes artifacts beside their documents. As any write it waits for indexes that are far behind, and is refused
   * once the shard is sealed. Answers when the store shows the outcome.
   */
  async enrich(command: EnrichCommand): Promise<OutcomeOf['enrich']> {
    const replica = this.#replica
    await replica.indexes?.room()
    if (replica.sealedError !== undefined) throw replica.sealedError
    const bytes = COMMAND_BYTES + enrichBytes(command)
    const outcome = await replica.propose({ kind: 'enrich', ...command }, { bytes })
    replica.indexes?.wrote(bytes, replica.committedSequence)
    await this.settled()
    return outcome
  }

  /**
   * The schema or the indexes changed. Reads follow a new TTL at once, records by the retiming pass.
   * Resolves when dropped indexes have left the disk.
   */
  async setSettings(settings: TableSettings): Promise<void> {
    this.#replica.state.settings = settings
    this.enrichers.changed()
    await this.#replica.indexes?.set(settings)
  }

  /**
   * Called when the table is being dropped. The shard refuses new writes and prepares from now on, and
   * still ends begun transactions. Resolves when every earlier proposal has its answer.
   */
  seal(): Promise<void> {
    return this.#replica.seal()
  }

  /** See Replica.close. */
  close(entries: 'keep' | 'drop' = 'keep'): Promise<void> {
    return this.#replica.close(entries)
  }

  #idleMs(sinceMs: number): number {
    return this.#replica.options.clock.monotonicMs() - sinceMs
  }
}
