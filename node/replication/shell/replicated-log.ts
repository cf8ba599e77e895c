// One replica's log with the core of replication in its middle: the core decides, this file does.
//
//   journal, clock, network, control plane ──inputs──► core ──effects──► journal, network, machine
//
// Invariants:
//   SH1  Inputs reach the core one after the other, each with all its effects, in the order in which they
//        came. What is told to be durable or promised is on disk.
//   SH2  Each message is worked on when all earlier ones of its log are.
//   SH3  Nothing that the core was told is taken back: rows that the disk has no room for wait.

import { must, unreachable } from '../../../lib/assert.ts'
import { messageOf, ServiceError } from '../../../lib/errors.ts'
import { runSliced } from '../../../lib/sliced.ts'
import { timestampOf, type Timestamp } from '../../clock/hybrid-clock.ts'
import type { AppendedEntry } from '../../journal/batch-writer.ts'
import type { LogId } from '../../journal/journal-format.ts'
import type { JournalSource } from '../../journal/journal-source.ts'
import { appendedMark } from '../../journal/log-mark.ts'
import { checkReceivedEntries, type ReceivedEntry } from '../../journal/received-entries.ts'
import type { InSyncChange, NodeId, ReplicaId, ShardConfiguration } from '../core/configuration.ts'
import type { Effect } from '../core/effects.ts'
import type { ReplicaLag } from '../core/follower-progress.ts'
import type { InSyncCount } from '../core/leader.ts'
import type { LogPosition } from '../core/log-index.ts'
import type { AppendOrder, ReplicationMessage } from '../core/messages.ts'
import { ReplicaCore, type Admission, type Input } from '../core/replica-core.ts'
import type { EntrySpan } from '../core/span-fate.ts'
import { REPLICATION_TIMING } from '../core/timing.ts'
import { CommittedEntries } from './committed-entries.ts'
import { ControlCalls } from './control-calls.ts'
import { DeposedGroups, type GroupFate } from './deposed-groups.ts'
import { JournalRows } from './journal-rows.ts'
import { isFrequent, type FrequentEffect } from './frequent-effect.ts'
import { KeptEntries } from './kept-entries.ts'
import { LogReader } from './log-reader.ts'
import { LogRests } from './log-rests.ts'
import {
  decodeMessage,
  encodeMessage,
  infoOfRow,
  type Envelope,
  type SentEntry,
} from './message-codec.ts'
import { OrderSender } from './order-sender.ts'
import { PendingReads } from './pending-reads.ts'
import type { ReplicatedLogOptions } from './replica-surroundings.ts'

/** A group of this leadership that is not committed. */
interface Group extends EntrySpan {
  readonly source: JournalSource
}

/**
 * The log of one replica, which follows or leads.
 *
 * Contract:
 * - It stands in the journal's place for the log of proposals: `ready` offers a group, and the group's
 *   source hears `written` when the group is committed. After `depose` it hears nothing of its groups.
 * - `depose` answers what becomes of each group that the journal has taken and that is not committed. It is
 *   decided by what a successor commits, or unknown after FATE_MS_MAX, `giveUp` or `close`.
 * - `tick` has to be called every few hundred milliseconds.
 * - `read` answers true if a read may be served now. Otherwise it resolves when that is so, and rejects
 *   with NOT_LEADER if the replica does not lead.
 */
export class ReplicatedLog {
  readonly logId: LogId
  /** How this log shares heartbeats with others. */
  readonly rests: LogRests
  readonly #with: ReplicatedLogOptions
  readonly #core: ReplicaCore
  readonly #rows: JournalRows
  readonly #kept = new KeptEntries()
  readonly #sender: OrderSender
  readonly #reads = new PendingReads()
  readonly #entries: CommittedEntries
  readonly #calls: ControlCalls
  readonly #deposed: DeposedGroups
  #groups: Group[] = []
  #source: JournalSource | undefined
  #inputs: Input[] = []
  #isStepping = false
  /** The entries of the message that is being worked on, by sequence. */
  #received = new Map<number, ReceivedEntry>()
  #inbox: Promise<void> = Promise.resolve()
  #refusedMs = -Infinity
  #sleeps = 0
  #isRestarting = false
  #isClosed = false

  constructor(options: ReplicatedLogOptions) {
    const { self, logId, start, journal, clock, timing = REPLICATION_TIMING } = options
    this.logId = logId
    this.#with = options
    this.#core = new ReplicaCore({ self, timing, ...start })
    this.rests = new LogRests({
      logId,
      core: this.#core,
      offers: options.beats,
      tell: (input) => void this.#core.step(input, clock.monotonicMs()),
    })
    const onTaken = (entries: readonly AppendedEntry[]) => this.#groupTaken(entries)
    this.#rows = new JournalRows({ logId, journal, clock, onTaken })
    const reader = new LogReader(journal, logId)
    this.#entries = new CommittedEntries({ logId, index: start.log, kept: this.#kept, reader })
    this.#calls = new ControlCalls({ logId, control: options.control, log: options.log })
    this.#deposed = new DeposedGroups({
      fateOf: (span) => this.#core.fateOf(span),
      monotonicMs: () => clock.monotonicMs(),
    })
    this.#sender = new OrderSender({
      kept: this.#kept,
      newReader: () => new LogReader(journal, logId),
      envelope: () => this.#envelope(),
      send: (to, message) => this.#with.network.send(to, message),
      onGone: (through) => this.#dropThrough(through),
      onFailure: (error) => this.#readFailed(error),
    })
  }

  get admission(): Admission {
    return this.#core.admission
  }

  get inSync(): InSyncCount | undefined {
    return this.#core.inSync
  }

  /** How far each follower is behind; empty unless this replica leads. */
  get lags(): ReadonlyMap<NodeId, ReplicaLag> {
    return this.#core.lags(this.#with.clock.monotonicMs())
  }

  get isLeading(): boolean {
    return this.#core.isLeading
  }

  get epoch(): number {
    return this.#core.epoch
  }

  get committed(): number {
    return this.#core.committed
  }

  get durable(): number {
    return this.#core.durable
  }

  get last(): LogPosition {
    return this.#core.last
  }

  /** The last entry that is on disk. */
  get durableEnd(): LogPosition {
    return this.#core.durableEnd
  }

  /** Why the journal takes no rows at the moment. */
  get trouble(): ServiceError | undefined {
    return this.#rows.trouble
  }

  configure(configuration: ShardConfiguration): void {
    this.#step({ kind: 'configured', configuration })
  }

  /** All nodes that are about to stop, with the lives that end. */
  leaving(nodes: ReadonlyMap<NodeId, number>): void {
    this.#step({ kind: 'leaving', nodes })
  }

  /** The newest time of which a store with the entries up to `applied` shows everything. */
  closedAt(applied: number): Timestamp | undefined {
    const time = this.#core.closedAt(applied)
    return time === undefined ? undefined : timestampOf(time)
  }

  tick(): void {
    this.#deposed.look()
    if (this.rests.isResting) return
    if (this.#core.wantsClosed) this.#close(false)
    this.#step({ kind: 'ticked' })
  }

  /** While the log rests: settles the closed point that was taken last, tells the followers, and takes another. */
  closeTime(): void {
    if (this.#core.isLeading && this.rests.isResting) this.#close(true)
  }

  #close(isTold: boolean): void {
    const point = this.#with.machine.closedPoint()
    if (point !== undefined) this.#step({ kind: 'closed', point, isTold })
  }

  /** See `Journal.ready`: the source's group is replicated, and committed when all in sync have it. */
  ready(source: JournalSource, { isAwaited }: { readonly isAwaited: boolean }): void {
    if (!this.#core.isLeading) return // its proposals are refused by `stopLeading`
    this.#source = source
    this.#rows.offer(source, isAwaited)
  }

  hurry(): void {
    this.#with.journal.hurry()
  }

  /** With `isHeard`, stamps of every later leader are above this node's hybrid time at the call. */
  read(isHeard = false): true | Promise<void> {
    this.#noticeSleep()
    const read = this.#reads.begin()
    this.#step({ kind: 'read_asked', token: read.token, isHeard })
    return read.isGranted || read.promise
  }

  #noticeSleep(): void {
    const sleeps = this.#with.sleeps?.count() ?? 0
    if (sleeps === this.#sleeps) return
    this.#sleeps = sleeps
    this.#step({ kind: 'slept' })
  }

  /** This replica answers its writers no more. One fate for each group that is not committed, in order. */
  depose(): readonly Promise<GroupFate>[] {
    this.#rows.withdraw()
    return this.#deposed.add(this.#groups.splice(0))
  }

  /** The groups that were deposed and are not decided are unknown from now on. */
  giveUp(): void {
    this.#deposed.giveUp()
  }

  /** The machine cannot serve in the epoch: another replica in sync shall lead, if there is one. */
  resign(epoch: number): void {
    this.#step({ kind: 'unfit', epoch })
  }

  /** Works on a message of another node's replica. Resolves when the next one may come. */
  receive(from: NodeId, bytes: Buffer): Promise<void> {
    const done = this.#inbox.then(() => this.#work(from, bytes))
    this.#inbox = done.catch((error: unknown) => this.#refuse(from, error))
    return this.#inbox
  }

  /** See `CommittedEntries`. */
  committedEntries(above: number, through: number): Promise<readonly SentEntry[]> {
    return this.#entries.after(above, Math.min(through, this.#core.committed))
  }

  /** See `ReplicaCore.needsSnapshot`. */
  needsSnapshot(base: LogPosition): boolean {
    return this.#core.needsSnapshot(base)
  }

  /** A snapshot has replaced the store. Resolves when the log begins after it, durably. */
  restart(base: LogPosition): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>()
    this.#kept.clear()
    this.#isRestarting = true
    const mark = appendedMark({ kind: 'restart', logId: this.logId, last: base })
    this.#rows.push(mark, () => {
      this.#isRestarting = false
      this.#step({ kind: 'installed', base })
      resolve()
    })
    return promise
  }

  /** Entries up to here are in a durable store, so the journal may lose them. */
  flushed(sequence: number): void {
    this.#dropThrough(sequence - INDEXED_ENTRIES)
  }

  /** A follower that needs one of these entries is offered a snapshot from now on. */
  #dropThrough(sequence: number): void {
    this.#core.dropLogThrough(Math.min(sequence, this.#core.committed))
  }

  /** No input has an effect any more. */
  async close(): Promise<void> {
    this.rests.close()
    this.#isClosed = true
    this.giveUp()
    await this.#inbox
    await this.#entries.close()
    await this.#sender.close()
    this.#reads.refuseAll(notLeader())
  }

  async #work(from: NodeId, bytes: Buffer): Promise<void> {
    if (this.#isClosed || this.#isRestarting) return
    const { envelope, message } = decodeMessage(bytes)
    this.#with.hybridClock.observe(envelope.hybridTime)
    const sender = { node: from, incarnation: envelope.incarnation }
    if (message.kind !== 'append') return this.#receive(sender, message)
    const { logId } = this
    const log = { logId, previous: message.previous }
    const received = await runSliced(checkReceivedEntries(log, message.entries), {
      clock: this.#with.clock,
    })
    if (this.#isRestarting) return // no row may follow the mark of the snapshot
    this.#received = new Map(received.map((entry) => [entry.position.sequence, entry]))
    const entries = received.map(({ position, bytes: length }) => ({ ...position, bytes: length }))
    this.#receive(sender, { ...message, entries })
    this.#received.clear()
  }

  #receive(from: ReplicaId, message: ReplicationMessage): void {
    this.#step({ kind: 'received', from, message })
  }

  /** Logged now and then: a sender repeats itself several times a second. */
  #refuse(from: NodeId, error: unknown): void {
    const nowMs = this.#with.clock.monotonicMs()
    if (nowMs - this.#refusedMs < REFUSAL_LOG_MS) return
    this.#refusedMs = nowMs
    const fields = { shard: this.logId, from, error: messageOf(error) }
    this.#with.log.warn('replication message refused', fields)
  }

  /** SH1. */
  #step(input: Input): void {
    if (this.#isClosed) return
    this.#inputs.push(input)
    if (this.#isStepping) return
    this.#isStepping = true
    try {
      for (let next = this.#inputs.shift(); next !== undefined; next = this.#inputs.shift()) {
        this.#stepOnce(next)
      }
    } finally {
      this.#isStepping = false
    }
  }

  #stepOnce(input: Input): void {
    this.rests.before(input)
    const effects = this.#core.step(input, this.#with.clock.monotonicMs())
    for (const effect of effects) {
      // A group is in the journal's hands already when the core hears of it.
      const isInJournal = input.kind === 'proposed' && effect.kind === 'append'
      if (!isInJournal) this.#perform(effect)
    }
    this.rests.after()
    this.#deposed.look()
  }

  #perform(effect: Effect): void {
    if (!isFrequent(effect)) return this.#performRare(effect)
    switch (effect.kind) {
      case 'append':
        return this.#append(effect)
      case 'send':
        return this.#send(effect.to, effect.message)
      case 'replicate':
        return this.#replicate(effect.order)
      case 'commit':
        return this.#commit(effect.through)
      case 'read':
        return this.#reads.grant(effect.token)
      case 'refuse_read':
        return this.#reads.refuse(effect.token, notLeader())
      case 'confirm':
        return void this.#confirm(effect.token)
      default:
        return unreachable(effect)
    }
  }

  #send(to: NodeId, message: ReplicationMessage): void {
    if (message.kind !== 'closed') this.rests.sends(to)
    this.#with.network.send(to, encodeMessage(this.#envelope(), message))
  }

  #replicate(order: AppendOrder): void {
    const saysNothing = order.through === order.previous.sequence && !order.isNews
    if (saysNothing && this.rests.offersRest(order.to)) return
    this.rests.sends(order.to)
    this.#sender.send(order)
  }

  /** What belongs to changes of the leadership or of the in-sync set. */
  #performRare(effect: Exclude<Effect, FrequentEffect>): void {
    const { machine } = this.#with
    switch (effect.kind) {
      case 'promise':
        return this.#promise(effect.epoch)
      case 'start_epoch':
        return this.#startEpoch(effect.epoch)
      case 'serve':
        return machine.serve(effect.epoch)
      case 'stop_leading':
        return this.#stopLeading()
      case 'change':
        return void this.#change(effect.change)
      case 'snapshot':
        return machine.offerSnapshot(effect.to)
      case 'refuse':
        return machine.refusedLeader(effect.reason)
      case 'contradicted':
        return machine.contradicted(effect.reason)
      default:
        return unreachable(effect)
    }
  }

  #append({ entries, truncateAfter }: Extract<Effect, { kind: 'append' }>): void {
    if (truncateAfter !== undefined) {
      const last = must(this.#with.start.log.positionAt(truncateAfter), 'the entry that stays')
      this.#kept.truncateAfter(truncateAfter)
      this.#rows.push(appendedMark({ kind: 'truncate', logId: this.logId, last }))
    }
    for (const [i, { sequence }] of entries.entries()) {
      const { appended, position } = must(this.#received.get(sequence), 'a received entry')
      this.#kept.add(appended)
      const isLast = i === entries.length - 1
      this.#rows.push(appended, isLast ? () => this.#durable(position) : undefined)
    }
  }

  #durable(position: LogPosition): void {
    this.#step({ kind: 'durable', position })
  }

  #promise(epoch: number): void {
    const mark = appendedMark({ kind: 'promise', logId: this.logId, epoch })
    this.#rows.push(mark, () => this.#step({ kind: 'promised', epoch }))
  }

  #groupTaken(entries: readonly AppendedEntry[]): () => void {
    const source = must(this.#source, 'the source of a taken group')
    const infos = entries.map(({ row }) => infoOfRow(row))
    const first = must(infos[0], 'the first entry of a group')
    const last = must(infos.at(-1), 'the last entry of a group')
    for (const entry of entries) this.#kept.add(entry)
    this.#groups.push({ first, last, source })
    this.#step({ kind: 'proposed', entries: infos })
    return () => this.#durable(last)
  }

  #startEpoch(epoch: number): void {
    const entry = this.#with.machine.startEntry(epoch, this.#core.last)
    const info = infoOfRow(entry.row)
    this.#kept.add(entry)
    this.#rows.push(entry, () => this.#durable(info))
    this.#step({ kind: 'proposed', entries: [info] })
  }

  #commit(through: number): void {
    const { journal, machine } = this.#with
    journal.committed(this.logId, through)
    for (let group = this.#groups[0]; group !== undefined; group = this.#groups[0]) {
      if (group.last.sequence > through) break
      this.#groups.shift()
      group.source.written()
    }
    machine.committed(through)
  }

  #stopLeading(): void {
    this.#rows.withdraw()
    this.#with.machine.stopLeading()
  }

  /** A request without an answer is repeated by the core. */
  async #change(change: InSyncChange): Promise<void> {
    const { operation } = change
    const configuration = await this.#calls.change(change)
    if (configuration === undefined) return
    this.#step({ kind: 'change_answered', operation, configuration })
  }

  async #confirm(token: number): Promise<void> {
    const configuration = await this.#calls.confirm()
    if (configuration === undefined) return this.#reads.refuse(token, notLeader())
    this.#step({ kind: 'confirmed', token, configuration })
  }

  #readFailed(error: unknown): void {
    const fields = { shard: this.logId, error: messageOf(error) }
    this.#with.log.error('entries for a follower cannot be read', fields)
  }

  #envelope(): Envelope {
    const { self, hybridClock } = this.#with
    const { logId } = this
    return { logId, incarnation: self.incarnation, hybridTime: hybridClock.readPoint() }
  }
}

const REFUSAL_LOG_MS = 10_000

/** 100,000 committed entries stay in the index for followers that are behind: 16 bytes for each. */
const INDEXED_ENTRIES = 100_000

/** The refusal of every call to a replica that does not lead. */
export function notLeader(): ServiceError {
  return new ServiceError('NOT_LEADER', 'another replica leads the shard; ask it')
}
