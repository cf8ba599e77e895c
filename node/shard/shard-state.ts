// A shard's state machine over its store: applies groups of commands, keeps the memory that belongs
// to the store, and rebuilds it.
//
// Invariants:
//   S1  Sequence numbers are dense over durable entries, and stamps increase with them.
//   S2  Memory equals what a rebuild from the store would give, apart from the group being written.

import { assert } from '../../lib/assert.ts'
import type { Clock } from '../../lib/clock.ts'
import { ServiceError } from '../../lib/errors.ts'
import { millisOf, TIMESTAMP_ZERO, type HybridClock } from '../clock/hybrid-clock.ts'
import type { KvOp, KvStore } from '../storage/kv-store.ts'
import { ENDS_GROUP, IS_LAZY } from './apply/apply-command.ts'
import type { ApplyContext, LiveTransaction, ShardMemory } from './apply/apply-context.ts'
import type { Command, Decision } from './apply/command.ts'
import type { AppliedGroup, GroupTarget } from './group-commit.ts'
import { decodeIntent } from './format/intent-codec.ts'
import {
  finishedKey,
  keyOfIntentKey,
  keyspaceRange,
  logKey,
  parseTransactionKey,
  sequenceOfLogKey,
} from './format/keyspace.ts'
import { LockTable, type Hold } from './lock-table.ts'
import { decodeLogEntry, encodeLogEntry, type LogEntry, type Touch } from './format/log-entry.ts'
import type { TableSettings } from './table-settings.ts'
import type { ProposedCommand } from './apply/proposed-command.ts'
import { ShardView } from './shard-view.ts'
import { decodeFinishedMark, decodeTransactionRecord } from './format/transaction-record.ts'
import type { TransactionId } from './transaction-id.ts'

/** More entries than fit into LevelDB's log before it becomes a table. */
const CHECKED_ENTRIES_MAX = 100_000

export interface ShardStateOptions {
  readonly store: KvStore
  readonly hybridClock: HybridClock
  readonly clock: Clock
  readonly settings: TableSettings
  /** Called after a group that ended transactions here, with their ids. */
  readonly onReleased: (transactionIds: readonly TransactionId[]) => void
}

export class ShardState implements GroupTarget<ProposedCommand, void> {
  readonly memory: ShardMemory = {
    locks: new LockTable(),
    live: new Map(),
    pushFloors: new Map(),
  }
  /** Of the table at the moment; replaced when its schema changes. */
  settings: TableSettings
  readonly #options: ShardStateOptions
  #sequence = 0
  /** The view of the newest group whose effects are not in the store yet. */
  #unwritten: ShardView | undefined
  /** The store's generation that the memory was built from. */
  #generation = 0
  #durableSequence = 0
  /** Up to here a power failure takes nothing back: lazy entries follow with the next sync. */
  #syncedSequence = 0
  readonly #commitListeners = new Set<() => void>()

  private constructor(options: ShardStateOptions) {
    this.#options = options
    this.settings = options.settings
  }

  static async open(options: ShardStateOptions): Promise<ShardState> {
    const state = new ShardState(options)
    await state.recover()
    return state
  }

  /** The newest log entry whose effects are in the store and in memory. */
  get committedSequence(): number {
    return this.#durableSequence
  }

  get syncedSequence(): number {
    return this.#syncedSequence
  }

  /** Calls `listener` after every group that is published; it must be cheap. Returns its removal. */
  onCommitted(listener: () => void): () => void {
    this.#commitListeners.add(listener)
    return () => {
      this.#commitListeners.delete(listener)
    }
  }

  /** Whether the state of the transaction is on disk, so that others may act on it. */
  isDurable({ decidedAt }: LiveTransaction): boolean {
    return decidedAt === undefined || decidedAt <= this.#durableSequence
  }

  /** How a transaction ended that has no record here any more, or never had one. */
  finished(transactionId: TransactionId): Decision | undefined {
    const mark = this.#options.store.get(finishedKey(transactionId))
    return mark === undefined ? undefined : decodeFinishedMark(mark)
  }

  /** Whether the store was reopened since, after a write whose fate we did not know (S2). */
  isStale(): boolean {
    return this.#options.store.generation !== this.#generation
  }

  endsGroup({ command }: ProposedCommand): boolean {
    return ENDS_GROUP[command.kind]
  }

  isLazy({ command }: ProposedCommand): boolean {
    return IS_LAZY[command.kind]
  }

  beginGroup(): AppliedGroup<ProposedCommand, void> {
    const view = new ShardView(this.#options.store, this.#unwritten)
    const released: Command[] = []
    let lastSequence = this.#sequence
    let synced = false
    this.#unwritten = view
    return {
      apply: (proposed) => {
        this.#apply(view, proposed)
        lastSequence = this.#sequence
        if (ENDS_GROUP[proposed.command.kind]) released.push(proposed.command)
      },
      write: ({ sync }) => {
        synced = sync
        return this.#write(view.effects, sync)
      },
      publish: () => {
        this.#durableSequence = lastSequence
        if (synced) this.#syncedSequence = lastSequence
        view.release()
        if (this.#unwritten === view) this.#unwritten = undefined
        this.#publish(released)
        for (const listener of this.#commitListeners) listener()
      },
    }
  }

  async #write(effects: readonly KvOp[], sync: boolean): Promise<void> {
    const { store } = this.#options
    if (effects.length === 0) return
    if (this.isStale()) {
      throw new ServiceError(
        'UNAVAILABLE',
        'the shard was reopened after a failed write; try again',
      )
    }
    await store.write(effects, { sync })
  }

  async recover(): Promise<void> {
    const { store, hybridClock } = this.#options
    const { generation } = store
    const last = await this.#lastEntry()
    if (last !== undefined) await this.#checkLog(last.sequence)
    const sequence = last?.sequence ?? 0
    const holds = await this.#storedHolds()
    const transactions = await this.#storedTransactions(sequence)

    // From here on without a wait: a reader in between would miss holds (L3) and decisions.
    const { locks, live } = this.memory
    this.#generation = generation
    this.#sequence = sequence
    this.#durableSequence = sequence
    this.#syncedSequence = sequence // opening a store syncs what it finds
    this.#unwritten = undefined
    if (last !== undefined) hybridClock.observeOwn(last.entry.stamp)
    locks.clear()
    for (const hold of holds) locks.add(hold)
    live.clear()
    for (const [transactionId, transaction] of transactions) live.set(transactionId, transaction)
  }

  async #storedHolds(): Promise<readonly Hold[]> {
    const heldSinceMs = this.#options.clock.monotonicMs()
    const holds: Hold[] = []
    for await (const page of this.#options.store.pages(keyspaceRange('intents'))) {
      for (const [key, value] of page) {
        holds.push({ key: keyOfIntentKey(key), intent: decodeIntent(value), heldSinceMs })
      }
    }
    return holds
  }

  async #storedTransactions(
    sequence: number,
  ): Promise<ReadonlyMap<TransactionId, LiveTransaction>> {
    const heardAtMs = this.#options.clock.monotonicMs()
    const found = new Map<TransactionId, LiveTransaction>()
    for await (const page of this.#options.store.pages(keyspaceRange('transactions'))) {
      for (const [key, value] of page) {
        const { anchor, transactionId } = parseTransactionKey(key)
        const { status, participants } = decodeTransactionRecord(value)
        const decidedAt = status.state === 'pending' ? undefined : sequence
        found.set(transactionId, { anchor, participants, status, decidedAt, heardAtMs })
      }
    }
    return found
  }

  async #lastEntry(): Promise<{ sequence: number; entry: LogEntry } | undefined> {
    const newestFirst = { ...keyspaceRange('log'), reverse: true, limit: 1 }
    for await (const page of this.#options.store.pages(newestFirst)) {
      const [key, value] = page[0] ?? []
      assert(key !== undefined && value !== undefined, 'a page has at least one entry')
      return { sequence: sequenceOfLogKey(key), entry: decodeLogEntry(value) }
    }
    return undefined
  }

  /**
   * LevelDB skips damaged parts of its own log without a word. A hole in our sequence shows it, as
   * long as we look back further than its log can reach (S1).
   */
  async #checkLog(newest: number): Promise<void> {
    const back = { ...keyspaceRange('log'), reverse: true, limit: CHECKED_ENTRIES_MAX }
    let expected = newest
    for await (const page of this.#options.store.pages(back)) {
      for (const [key] of page) {
        if (sequenceOfLogKey(key) !== expected) {
          throw new ServiceError(
            'CORRUPTION',
            `log entry ${expected} is missing: the store lost writes; restore it from a backup`,
          )
        }
        expected--
      }
    }
  }

  #apply(view: ShardView, proposed: ProposedCommand): void {
    const { hybridClock, clock } = this.#options
    const stamp = hybridClock.now()
    const touches: Touch[] = []
    const effectsBefore = view.effects.length
    const context: ApplyContext = {
      view,
      rules: this.settings.rules,
      memory: this.memory,
      sequence: this.#sequence + 1,
      stamp,
      nowMs: millisOf(stamp),
      monotonicMs: clock.monotonicMs(),
      touches,
    }
    try {
      proposed.apply(context)
    } catch (error) {
      view.truncate(effectsBefore) // it may have failed halfway, at a damaged block of the store
      throw error
    }
    // A refusal, or a command that found nothing to do, needs no entry.
    if (view.effects.length === effectsBefore) return
    this.#sequence = context.sequence
    const { command } = proposed
    const version = versionOfEntry(command, stamp)
    const entry = encodeLogEntry({ kind: command.kind, stamp, version, touches })
    view.put(logKey(this.#sequence), entry)
  }

  #publish(commands: readonly Command[]): void {
    const released: TransactionId[] = []
    for (const command of commands) {
      if (command.kind === 'resolve') {
        this.memory.locks.release(command.transactionId)
        released.push(command.transactionId)
      } else if (command.kind === 'forget') {
        this.#forget(command.transactionId)
      } else if (command.kind === 'abandon') {
        this.memory.pushFloors.delete(command.transactionId)
      }
    }
    if (released.length > 0) this.#options.onReleased(released)
  }

  #forget(transactionId: TransactionId): void {
    const live = this.memory.live.get(transactionId)
    if (live?.status.state === 'pending') return
    this.memory.live.delete(transactionId)
    this.memory.pushFloors.delete(transactionId)
  }
}

function versionOfEntry(command: Command, stamp: LogEntry['stamp']): LogEntry['version'] {
  if (command.kind !== 'resolve') return stamp
  return command.decision.state === 'committed' ? command.decision.commitTs : TIMESTAMP_ZERO
}
