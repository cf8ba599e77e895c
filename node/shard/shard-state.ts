// A shard's state machine over its store: applies commands one by one, keeps the memory that belongs to
// the state, and rebuilds it.
//
// Invariants:
//   S1  Sequence numbers are dense over committed entries, and stamps increase with them. Only the first entry of
//       a leadership may have the stamp of the one before it.
//   S2  Memory equals what a rebuild from the store would give, once everything applied is in the store.

import { assert, must } from '../../lib/assert.ts'
import type { Clock } from '../../lib/clock.ts'
import { isSliced, runSliced, type Sliced } from '../../lib/sliced.ts'
import {
  millisOf,
  TIMESTAMP_ZERO,
  type HybridClock,
  type Timestamp,
} from '../clock/hybrid-clock.ts'
import type { AppendedEntry } from '../journal/batch-writer.ts'
import type { LogPosition } from '../journal/log-position.ts'
import {
  CRC_BYTES_PER_STEP,
  crcOfEntry,
  crcOfEntryInSteps,
  encodeLogId,
  encodeUncheckedRow,
  setRowCrc,
} from '../journal/journal-format.ts'
import type { ClosedPoint } from '../replication/core/messages.ts'
import type { KvStore } from '../storage/kv-store.ts'
import type { ApplyContext, LiveTransaction, ShardMemory } from './apply/apply-context.ts'
import type { Command, Decision } from './command/command.ts'
import type { CommandSettings, ProposedCommand } from './apply/proposed-command.ts'
import { CommandView } from './apply/command-view.ts'
import { LOG_START, storedPosition, type AppliedPosition } from './format/applied-position.ts'
import {
  encodeBody,
  encodeShortBody,
  type EncodedBody,
  type EntryHead,
} from './format/entry-body.ts'
import { decodeIntent } from './format/intent-codec.ts'
import { keyOfIntentKey, keyspaceRange, parseTransactionKey } from './format/keyspace.ts'
import { decodeLogEntry, type LogEntry } from './format/log-entry.ts'
import { decodeTransactionRecord } from './format/transaction-record.ts'
import type { KeyRange } from './command/key-range.ts'
import { LockTable, type Hold } from './apply/lock-table.ts'
import type { ShardId } from './shard-id.ts'
import { ShardOverlay } from './apply/shard-overlay.ts'
import { LogTally, tallyOfEffects, tallyOfTouches } from './following/log-tally.ts'
import type { AppliedEntry, OnEntry } from './store-applier.ts'
import type { TableSettings } from './command/table-settings.ts'
import type { TransactionId } from './command/transaction-id.ts'

/** The bytes of an entry beyond its body, as they count for its group. */
const ENTRY_BYTES = 64
/** Up to 64 effects, of few bytes, are encoded in one step. */
const SHORT_EFFECTS_MAX = 64

/** What the state works with. `store` must hold the whole log up to its applied position. */
export interface ShardStateOptions {
  readonly id: ShardId
  readonly range: KeyRange
  readonly store: KvStore
  readonly hybridClock: HybridClock
  readonly clock: Clock
  readonly settings: TableSettings
  /** Called when transactions have released their keys here, with their ids. */
  readonly onReleased: (transactionIds: readonly TransactionId[]) => void
}

/** The entry of an applied command, encoded for the journal and as effects for the store. */
export interface AppliedCommand {
  readonly command: Command
  readonly appended: AppendedEntry
  readonly entry: AppliedEntry
  readonly bytes: number
}

/** Undefined for a command that changed nothing. */
export type Applied = AppliedCommand | undefined

interface NewEntry {
  readonly command: Command
  readonly head: EntryHead
  readonly view: CommandView
  readonly body: EncodedBody
  readonly row: Buffer
  readonly crc: number
}

/**
 * The state of one replica: sequence, holds, live transactions, overlay. One caller applies at a
 * time (G1).
 */
export class ShardState {
  readonly store: KvStore
  readonly overlay: ShardOverlay
  readonly memory: ShardMemory = {
    locks: new LockTable(),
    live: new Map(),
    pushFloors: new Map(),
  }
  /** The table's settings at the moment; a change of the schema or the indexes replaces them. */
  settings: TableSettings
  readonly #options: ShardStateOptions
  readonly #logId: Buffer
  readonly #appliedListeners = new Set<() => void>()
  /** The position of the newest entry, committed or not. */
  #position: LogPosition = LOG_START
  /** The epoch of the entries that are made here. */
  #epoch = 0
  /** The stamp of the command that was begun last, until its entry is made. */
  #entering: Timestamp | undefined
  #nextOrdinal = 0
  #tally: LogTally | undefined
  #committedSequence = 0
  #appliedSequence = 0

  constructor(options: ShardStateOptions) {
    this.#options = options
    this.#logId = encodeLogId(options.id)
    this.store = options.store
    this.overlay = new ShardOverlay(options.store)
    this.settings = options.settings
  }

  /** The newest entry that nothing takes back. */
  get committedSequence(): number {
    return this.#committedSequence
  }

  /** The newest entry whose effects are in the store. */
  get appliedSequence(): number {
    return this.#appliedSequence
  }

  /** Calls `listener` when the store has grown; it must be cheap. Returns its removal. */
  onApplied(listener: () => void): () => void {
    this.#appliedListeners.add(listener)
    return () => {
      this.#appliedListeners.delete(listener)
    }
  }

  /** Whether the state of the transaction is committed, so that others may act on it. */
  isDurable({ decidedAt }: LiveTransaction): boolean {
    return decidedAt === undefined || decidedAt <= this.#committedSequence
  }

  /** How a transaction ended that has no record here any more, or never had one. */
  finished(transactionId: TransactionId): Decision | undefined {
    return this.overlay.durableFinish(transactionId)
  }

  /**
   * Applies one command, at once if it is short; undefined when it was refused or found nothing to do,
   * and has no entry. Nothing else may be applied before its last step.
   */
  apply(proposed: ProposedCommand): Applied | Sliced<Applied> {
    const context = this.#context(proposed.settings)
    const steps = proposed.apply(context)
    const { command } = proposed
    return steps === undefined
      ? this.#enter(command, context)
      : this.#enterAfter(steps, command, context)
  }

  #context({ rules, ttl, indexes }: CommandSettings): ApplyContext {
    const { hybridClock, clock } = this.#options
    const stamp = hybridClock.now()
    this.#entering = stamp
    return {
      range: this.#options.range,
      view: new CommandView(this.overlay, this.#nextOrdinal),
      rules,
      ttl,
      indexes,
      memory: this.memory,
      sequence: this.#position.sequence + 1,
      stamp,
      nowMs: millisOf(stamp),
      monotonicMs: clock.monotonicMs(),
    }
  }

  *#enterAfter(steps: Sliced<void>, command: Command, context: ApplyContext): Sliced<Applied> {
    yield* steps
    const entered = this.#enter(command, context)
    return isSliced(entered) ? yield* entered : entered
  }

  /** Makes the command's entry, and shows its effects to the commands that follow. */
  #enter(command: Command, { view, stamp }: ApplyContext): Applied | Sliced<Applied> {
    const { effects } = view
    if (effects.length === 0) {
      this.#entering = undefined
      return undefined
    }
    const head = { kind: command.kind, stamp, version: versionOfEntry(command, stamp) }
    const isShort = effects.length <= SHORT_EFFECTS_MAX && view.bytes <= CRC_BYTES_PER_STEP
    if (!isShort) return this.#enterLong(command, head, view)
    const body = encodeShortBody(head, effects)
    const row = this.#rowOf(body)
    const crc = crcOfEntry(row, body.parts)
    return this.#entered({ command, head, view, body, row: setRowCrc(row, crc), crc })
  }

  *#enterLong(command: Command, head: EntryHead, view: CommandView): Sliced<AppliedCommand> {
    const body = yield* encodeBody(head, view.effects)
    const row = this.#rowOf(body)
    const crc = yield* crcOfEntryInSteps(row, body.parts)
    return this.#entered({ command, head, view, body, row: setRowCrc(row, crc), crc })
  }

  #rowOf({ length }: EncodedBody): Buffer {
    return this.#rowAfter(this.#position, this.#epoch, length)
  }

  #rowAfter({ sequence, crc }: LogPosition, epoch: number, length: number): Buffer {
    const row = { sequence: sequence + 1, epoch, length, previousCrc: crc }
    return encodeUncheckedRow(this.#logId, row)
  }

  #entered({ command, head, view, body, row, crc }: NewEntry): AppliedCommand {
    const sequence = this.#position.sequence + 1
    const position = { sequence, epoch: this.#epoch, crc }
    this.#position = position
    this.#entering = undefined
    this.#nextOrdinal = view.nextOrdinal
    this.overlay.add(view.layer)
    if (command.kind === 'resolve') this.#release(command.transactionId)
    return {
      command,
      appended: { logId: this.#options.id, sequence, row, body: body.parts },
      entry: { position, head, effects: view.effects },
      bytes: Math.max(body.length, view.bytes) + ENTRY_BYTES,
    }
  }

  /** A reader who finds a key free must find what its transaction left: that is in the overlay now. */
  #release(transactionId: TransactionId): void {
    const { locks } = this.memory
    locks.release(transactionId)
    if (!locks.isSwept) void runSliced(locks.sweep(), { clock: this.#options.clock })
    this.#options.onReleased([transactionId])
  }

  /** No later entry commits anything at or below this time: CT1 for what is applied here. */
  closedPoint(): ClosedPoint {
    let time: bigint = this.#options.hybridClock.readPoint() // every later stamp is above it
    if (this.#entering !== undefined && this.#entering <= time) time = this.#entering - 1n
    for (const { intent } of this.memory.locks.writers()) {
      if (intent.commitAtLeast <= time) time = intent.commitAtLeast - 1n
    }
    return { time, sequence: this.#position.sequence }
  }

  /**
   * The first entry of a leadership, chained to `previous`. It changes nothing here, so its stamp needs not be one
   * that nobody else has: `now` fails while the clock's bound cannot be saved, and a leadership must begin then too.
   */
  startEntry(epoch: number, previous: LogPosition): AppendedEntry {
    const stamp = this.#options.hybridClock.readPoint()
    const body = encodeShortBody({ kind: 'lead', stamp, version: stamp }, [])
    const row = this.#rowAfter(previous, epoch, body.length)
    setRowCrc(row, crcOfEntry(row, body.parts))
    const { id: logId } = this.#options
    return { logId, sequence: previous.sequence + 1, row, body: body.parts }
  }

  /** From the next rebuild on, entries are made in this epoch. */
  leadIn(epoch: number): void {
    this.#epoch = epoch
  }

  /** The oldest group that is not committed has been committed. */
  publish(commands: readonly AppliedCommand[]): void {
    this.overlay.publish()
    for (const { command, entry } of commands) {
      const { sequence } = entry.position
      this.#committedSequence = sequence
      this.tally.note(sequence, tallyOfEffects(entry.effects))
      if (command.kind === 'forget') this.#forget(command.transactionId)
      if (command.kind === 'abandon') this.memory.pushFloors.delete(command.transactionId)
    }
  }

  /** Counts an entry of another leader. */
  readonly noteFollowed: OnEntry = (sequence, touches) => {
    this.tally.note(sequence, tallyOfTouches(touches))
  }

  /** How many changes the newest committed entries have. */
  get tally(): LogTally {
    return must(this.#tally, 'the state was built from the store')
  }

  /** The shard has no more documents than this. */
  get documentsMax(): number {
    return Math.max(this.#nextOrdinal, this.storedPosition().nextOrdinal)
  }

  /** The store has taken committed entries of another leader up to this one. */
  publishFollowed(sequence: number): void {
    this.#committedSequence = sequence
    this.publishApplied(sequence)
  }

  /** The store has taken entries up to this one. */
  publishApplied(sequence: number): void {
    this.#appliedSequence = sequence
    for (const listener of this.#appliedListeners) listener()
  }

  /** How far the store has been written. */
  storedPosition(): AppliedPosition {
    return storedPosition(this.store)
  }

  /** Builds the memory again from the store, which must hold everything that is committed. */
  async rebuild(): Promise<void> {
    const { hybridClock } = this.#options
    const { nextOrdinal, ...position } = this.storedPosition()
    const last = await this.#lastEntry()
    const holds = await this.#storedHolds()
    const transactions = await this.#storedTransactions(position.sequence)

    // From here on without a wait: a reader in between would miss holds (L3) and decisions.
    const { locks, live } = this.memory
    this.#position = position
    this.#entering = undefined
    this.#epoch = Math.max(this.#epoch, position.epoch)
    this.#nextOrdinal = nextOrdinal
    this.#tally ??= new LogTally(position.sequence)
    this.#committedSequence = position.sequence
    this.#appliedSequence = position.sequence
    if (last !== undefined) hybridClock.observeOwn(last.stamp)
    locks.clear()
    for (const hold of holds) locks.add(hold)
    live.clear()
    for (const [transactionId, transaction] of transactions) live.set(transactionId, transaction)
  }

  async #storedHolds(): Promise<readonly Hold[]> {
    const heldSinceMs = this.#options.clock.monotonicMs()
    const holds: Hold[] = []
    for await (const page of this.store.pages(keyspaceRange('intents'))) {
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
    for await (const page of this.store.pages(keyspaceRange('transactions'))) {
      for (const [key, value] of page) {
        const { anchor, transactionId } = parseTransactionKey(key)
        const { status, participants } = decodeTransactionRecord(value)
        const decidedAt = status.state === 'pending' ? undefined : sequence
        found.set(transactionId, { anchor, participants, status, decidedAt, heardAtMs })
      }
    }
    return found
  }

  async #lastEntry(): Promise<LogEntry | undefined> {
    const newestFirst = { ...keyspaceRange('log'), reverse: true, limit: 1 }
    for await (const page of this.store.pages(newestFirst)) {
      const value = page[0]?.[1]
      assert(value !== undefined, 'a page has at least one entry')
      return decodeLogEntry(value)
    }
    return undefined
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
