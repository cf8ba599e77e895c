// One replica of a shard as a pure state machine: inputs in, effects out. It knows no clock, disk,
// socket or control plane. Its shell does, and tests run it in virtual time.
//
// The protocol is that of PacificA and of Kafka's in-sync replicas: the control plane names a leader for
// an epoch and a set of replicas that have everything; the leader waits for all of the set.
//
// Invariants:
//   RR1  An epoch is promised on disk before anything of it is accepted or led (W2, E2).
//   RR2  No newer epoch is promised while a grant to a leader runs (R1). A replica that has just started
//        does not know what it granted, and waits as if it had granted a moment before. For a shard's first
//        epoch nobody waits: there was no leader to grant anything. A replica without a promise and a log has
//        followed nobody, so it has granted nothing either, and follows at once; to lead, it waits all the same.
//   RR3  A replica leads only an epoch that names this life of it.
//   RR4  A replica that has heard of a newer epoch neither leads nor follows an older one.
//   RR5  A replica follows nobody before the control plane has told it, in this life, which epoch there is: what its disk
//        says of that may be from before, if the disk went back.

import { assert, must, unreachable } from '../../../lib/assert.ts'
import type { ClosedPoint } from './messages.ts'
import {
  FIRST_EPOCH,
  type NodeId,
  type ReplicaId,
  type ShardConfiguration,
} from './configuration.ts'
import type { Effect } from './effects.ts'
import { Follower } from './follower.ts'
import type { ReplicaLag } from './follower-progress.ts'
import { Leader, type InSyncCount } from './leader.ts'
import type { EntryInfo, LogPosition } from './log-index.ts'
import type { AppendMessage, ClosedMessage, PingMessage, ReplicationMessage } from './messages.ts'
import { ReplicaContext, type ReplicaStart } from './replica-context.ts'
import type { Rest } from './rest.ts'
import { withoutEntries, type Unanswered } from './unanswered.ts'
import { fateOfSpan, type EntrySpan, type SpanFate } from './span-fate.ts'

/** What has happened. */
export type Input =
  /** The control plane says so; old news is ignored. */
  | { readonly kind: 'configured'; readonly configuration: ShardConfiguration }
  | { readonly kind: 'received'; readonly from: ReplicaId; readonly message: ReplicationMessage }
  /** Only while `admission` allows it, chained to the last entry; the first one of an epoch always. */
  | { readonly kind: 'proposed'; readonly entries: readonly EntryInfo[] }
  /** Everything up to this entry is on disk. */
  | { readonly kind: 'durable'; readonly position: LogPosition }
  | { readonly kind: 'promised'; readonly epoch: number }
  /** `isHeard`: only when all others in sync have answered a message that was sent after this input. */
  | { readonly kind: 'read_asked'; readonly token: number; readonly isHeard: boolean }
  /** The configuration, as read after `confirm` asked for it. */
  | {
      readonly kind: 'confirmed'
      readonly token: number
      readonly configuration: ShardConfiguration
    }
  /** The control plane has made or refused the change, and this is there now. */
  | {
      readonly kind: 'change_answered'
      readonly operation: string
      readonly configuration: ShardConfiguration
    }
  /** An answer to `wantsClosed`: no entry that follows commits anything at or below the point's time. */
  | { readonly kind: 'closed'; readonly point: ClosedPoint; readonly isTold: boolean }
  /** The state machine cannot serve as leader of the epoch. */
  | { readonly kind: 'unfit'; readonly epoch: number }
  /** A snapshot replaced the log. */
  | { readonly kind: 'installed'; readonly base: LogPosition }
  | TimeInput

type PlaneInput = Extract<Input, { readonly configuration: ShardConfiguration }>

/** What comes from clocks, and what nodes say of themselves. */
type TimeInput =
  /** All nodes that are about to stop, with the lives that end. */
  | { readonly kind: 'leaving'; readonly nodes: ReadonlyMap<NodeId, number> }
  /** The node of the leader under which this replica rests said at `atMs` that it is there. */
  | { readonly kind: 'beat_heard'; readonly atMs: number }
  /** The node of a follower that rests has answered a beat that was sent at `sentMs`. */
  | { readonly kind: 'beat_answered'; readonly node: NodeId; readonly sentMs: number }
  /** The machine may have slept, while the monotonic clock stood still. */
  | { readonly kind: 'slept' }
  | { readonly kind: 'ticked' }

const TIME_INPUTS: readonly Input['kind'][] = [
  'ticked',
  'beat_heard',
  'beat_answered',
  'slept',
  'leaving',
]

function isTimeInput(input: Input): input is TimeInput {
  return TIME_INPUTS.includes(input.kind)
}

/** Whether writes are taken now; if not, nothing has happened to one that is refused. */
export type Admission = 'open' | 'not_leader' | 'starting' | 'under_replicated'

type Role =
  | { readonly kind: 'waiting' }
  | { readonly kind: 'following'; readonly follower: Follower }
  | { readonly kind: 'leading'; readonly leader: Leader }

/**
 * One replica of a shard, as follower or leader.
 *
 * Contract:
 * - `step` is synchronous and does nothing itself: it answers what has to be done, in order.
 * - The same inputs at the same times give the same effects.
 * - Inputs may come late, twice, in another order or not at all, as messages do; only `durable` and
 *   `promised` must be true when they come.
 */
export class ReplicaCore {
  readonly #with: ReplicaContext
  #promised: number
  /** The newest epoch that the control plane or a leader spoke of. */
  #heard: number
  #promising: number | undefined
  #grantUntilMs: number | undefined
  #configuration: ShardConfiguration | undefined
  #role: Role = { kind: 'waiting' }
  /** The last message of a leader whose epoch is not promised yet. It is answered when that is done. */
  #unanswered: Unanswered | undefined

  constructor(start: ReplicaStart) {
    this.#with = new ReplicaContext(start)
    this.#promised = start.promised
    this.#heard = start.promised
  }

  get admission(): Admission {
    if (this.#role.kind !== 'leading') return 'not_leader'
    const { leader } = this.#role
    if (leader.isBelowMinimum) return 'under_replicated'
    return leader.isServing ? 'open' : 'starting'
  }

  /** The epoch that this replica leads or follows. */
  get epoch(): number {
    return this.#promised
  }

  /** Undefined unless this replica leads. */
  get inSync(): InSyncCount | undefined {
    return this.#leader?.inSync
  }

  /** How far each follower is behind; empty unless this replica leads. */
  lags(nowMs: number): ReadonlyMap<NodeId, ReplicaLag> {
    return this.#leader?.lags(nowMs) ?? new Map()
  }

  get isLeading(): boolean {
    return this.#role.kind === 'leading'
  }

  /** What the next entry is chained to. */
  get last(): LogPosition {
    return this.#with.log.last
  }

  get committed(): number {
    return this.#with.committed
  }

  /** The newest time of which a store shows everything that has the entries up to `applied`. */
  closedAt(applied: number): bigint | undefined {
    return this.#with.closed.timeAt(applied)
  }

  /** Whether the shell may answer the machine's closed point now. */
  get wantsClosed(): boolean {
    return this.#leader?.wantsClosed ?? false
  }

  get durable(): number {
    return this.#with.durable
  }

  /** The last entry that is on disk. */
  get durableEnd(): LogPosition {
    return must(this.#with.log.positionAt(this.durable), 'the last durable entry')
  }

  /** False while time alone can change nothing, if each follower, or this one, rests. */
  get needsTicks(): boolean {
    const { kind } = this.#role
    if (this.#role.kind === 'leading') return !this.#role.leader.isIdle
    return kind !== 'following' || this.#heard !== this.#promised
  }

  /** How many replicas this leader sends heartbeats to. */
  get followerCount(): number {
    return this.#leader?.followerCount ?? 0
  }

  /** In what the follower on `node` may rest; undefined while something is to be done. */
  restOf(node: NodeId): Rest | undefined {
    const leader = this.#leader
    if (leader?.isAtRest(node) !== true) return undefined
    return { epoch: leader.epoch, last: this.#with.log.last }
  }

  /** Whether this replica follows that leader and has, on its disk and committed, all that it has. */
  mayRestUnder(leader: NodeId, { epoch, last }: Rest): boolean {
    if (this.#role.kind !== 'following' || this.needsTicks) return false
    const { log, durable, committed } = this.#with
    const { follower } = this.#role
    const isFollowed = follower.leader === leader && follower.epoch === epoch
    const isWhole = log.last.sequence === last.sequence && log.has(last)
    return (
      isFollowed &&
      epoch === this.#promised &&
      isWhole &&
      durable === last.sequence &&
      committed === last.sequence
    )
  }

  /**
   * Whether a snapshot up to `base`, which is committed, brings anything. A replica that has caught up by other ways
   * meanwhile may be in sync or lead, and would lose entries that it acknowledged.
   */
  needsSnapshot(base: LogPosition): boolean {
    const { committed, log } = this.#with
    return !this.isLeading && committed < base.sequence && !log.has(base)
  }

  /** What became of entries that this replica appended as leader; see `SpanFate`. */
  fateOf(span: EntrySpan): SpanFate {
    return fateOfSpan(span, this.#with)
  }

  /** Committed entries up to here left the log on disk. */
  dropLogThrough(sequence: number): void {
    assert(sequence <= this.#with.committed, 'only committed entries leave the log')
    this.#with.log.dropThrough(sequence)
  }

  /** `nowMs` is of this replica's monotonic clock. */
  step(input: Input, nowMs: number): readonly Effect[] {
    const context = this.#with
    context.nowMs = nowMs
    this.#grantUntilMs ??= nowMs + context.timing.grantMs // RR2
    if (isTimeInput(input)) this.#takeTime(input)
    else this.#take(input)
    return context.takeEffects()
  }

  #take(input: Exclude<Input, TimeInput>): void {
    switch (input.kind) {
      case 'configured':
      case 'confirmed':
      case 'change_answered':
        return this.#told(input)
      case 'received':
        return this.#received(input.from, input.message)
      case 'proposed':
        return this.#proposed(input.entries)
      case 'durable':
        return this.#durable(input.position)
      case 'promised':
        return this.#promisedTo(input.epoch)
      case 'read_asked':
        return this.#readAsked(input)
      case 'closed':
        return this.#close(input)
      case 'unfit':
        return this.#unfit(input.epoch)
      case 'installed':
        return this.#with.restart(input.base)
      default:
        return unreachable(input)
    }
  }

  #takeTime(input: TimeInput): void {
    switch (input.kind) {
      case 'leaving':
        return this.#leaving(input.nodes)
      case 'beat_heard':
        return this.#granted(input.atMs)
      case 'beat_answered':
        return this.#leader?.beatAnswered(input.node, input.sentMs)
      case 'slept':
        return this.#leader?.voidGrants()
      case 'ticked':
        return this.#ticked()
      default:
        return unreachable(input)
    }
  }

  get #leader(): Leader | undefined {
    return this.#role.kind === 'leading' ? this.#role.leader : undefined
  }

  #proposed(entries: readonly EntryInfo[]): void {
    this.#leader?.propose(entries)
  }

  #close({ point, isTold }: Extract<Input, { kind: 'closed' }>): void {
    this.#leader?.close(point, isTold)
  }

  #leaving(nodes: ReadonlyMap<NodeId, number>): void {
    this.#with.leaving = nodes
    this.#leader?.leavingChanged()
  }

  #unfit(epoch: number): void {
    if (this.#leader?.epoch === epoch) this.#leader.resign()
  }

  /** What the control plane says. */
  #told(input: PlaneInput): void {
    const { configuration } = input
    this.#configured(configuration)
    if (input.kind === 'confirmed') this.#confirmed(input)
    if (input.kind !== 'change_answered') return
    this.#leader?.changeAnswered(input.operation, configuration.revision)
  }

  #configured(configuration: ShardConfiguration): void {
    if (configuration.revision <= (this.#configuration?.revision ?? 0)) return
    this.#configuration = configuration
    this.#hearOf(configuration.epoch)
    const leader = this.#leader
    if (leader !== undefined && !this.#isNamed(configuration)) this.#stepDown()
    else leader?.configure(configuration)
    this.#takeOverIfNamed()
  }

  #isNamed({ leader }: ShardConfiguration): boolean {
    const { self } = this.#with
    return leader?.node === self.node && leader.incarnation === self.incarnation
  }

  /** RR4. */
  #hearOf(epoch: number): void {
    if (epoch <= this.#heard) return
    this.#heard = epoch
    this.#stepDown()
  }

  /** E2, RR3. The promise comes first, and the grant that this replica gave before it. */
  #takeOverIfNamed(): void {
    const configuration = this.#configuration
    if (configuration === undefined || configuration.epoch <= this.#promised) return
    if (configuration.epoch < this.#heard || !this.#isNamed(configuration)) return
    this.#promise(configuration.epoch)
  }

  /** RR1, RR2: tried again with the next message of the leader, and with the next tick. */
  #promise(epoch: number): void {
    const { nowMs } = this.#with
    if (epoch > FIRST_EPOCH && (this.#grantUntilMs ?? Infinity) > nowMs) return
    this.#emitPromise(epoch)
  }

  /** RR2, for the epoch of another replica. */
  #promiseTo(epoch: number): void {
    const hasGranted = this.#promised > 0 || this.#with.log.last.sequence > 0
    if (hasGranted) this.#promise(epoch)
    else this.#emitPromise(epoch)
  }

  #emitPromise(epoch: number): void {
    if (epoch <= (this.#promising ?? 0)) return
    this.#promising = epoch
    this.#with.emit({ kind: 'promise', epoch })
  }

  #promisedTo(epoch: number): void {
    if (epoch === this.#promising) this.#promising = undefined
    if (epoch <= this.#promised) return
    this.#stepDown()
    this.#promised = epoch
    const configuration = this.#configuration
    if (configuration?.epoch === epoch && epoch >= this.#heard && this.#isNamed(configuration)) {
      this.#grantUntilMs = this.#with.nowMs // what it granted to earlier leaders is over (RR2)
      this.#role = { kind: 'leading', leader: new Leader(this.#with, configuration) }
    }
    this.#answerLate()
  }

  /** Otherwise the leader of the promised epoch would learn where this replica is by its next heartbeat. */
  #answerLate(): void {
    const unanswered = this.#unanswered
    if (unanswered?.message.epoch !== this.#promised) return
    this.#unanswered = undefined
    this.#hear(unanswered.from, unanswered.message)
  }

  #stepDown(): void {
    this.#leader?.stop()
    this.#role = { kind: 'waiting' }
  }

  #received(from: ReplicaId, message: ReplicationMessage): void {
    switch (message.kind) {
      case 'append':
      case 'ping':
        return this.#hear(from, message)
      case 'release':
        return this.#released(message.epoch)
      case 'closed':
        return this.#closed(message)
      case 'stale':
        return this.#hearOf(message.epoch)
      case 'appended':
      case 'mismatch':
      case 'refused':
      case 'pong':
        if (message.epoch === this.#leader?.epoch) this.#leader.hear(from, message)
        return
      default:
        return unreachable(message)
    }
  }

  /** CT1 holds for good, but entries of an older epoch may not be those that this replica has. */
  #closed({ epoch, point }: ClosedMessage): void {
    const role = this.#role
    if (role.kind === 'following' && role.follower.epoch === epoch) role.follower.noteClosed(point)
  }

  /** The sender leads `message.epoch`. */
  #hear(from: ReplicaId, message: AppendMessage | PingMessage): void {
    const { epoch } = message
    if (this.#configuration === undefined) return // RR5
    this.#hearOf(epoch)
    if (epoch < this.#heard) {
      return this.#with.send(from.node, { kind: 'stale', epoch: this.#heard })
    }
    if (epoch > this.#promised) {
      this.#unanswered = { from, message: withoutEntries(message) }
      return this.#promiseTo(epoch)
    }
    if (this.#role.kind === 'leading') return // sent by an earlier life, which had the same epoch
    this.#granted(this.#with.nowMs)
    if (message.kind === 'ping') {
      return this.#with.send(from.node, { kind: 'pong', epoch, round: message.round })
    }
    this.#followerOf(epoch, from).append(message)
  }

  /** A leader has heard, or will hear, that this replica follows nobody newer for a while. */
  #granted(atMs: number): void {
    const { grantMs } = this.#with.timing
    this.#grantUntilMs = Math.max(this.#grantUntilMs ?? -Infinity, atMs + grantMs)
  }

  /** The leader of the epoch serves no more reads, so that nobody relies on the grant. */
  #released(epoch: number): void {
    if (epoch !== this.#promised) return
    this.#grantUntilMs = this.#with.nowMs
    this.#takeOverIfNamed()
    this.#followIfAsked()
  }

  /** RR2: the leader that asked waits for the end of the grant. */
  #followIfAsked(): void {
    const epoch = this.#unanswered?.message.epoch ?? 0
    if (epoch > this.#promised && epoch >= this.#heard) this.#promiseTo(epoch)
  }

  #followerOf(epoch: number, { node: leader }: ReplicaId): Follower {
    if (this.#role.kind === 'following' && this.#role.follower.epoch === epoch) {
      return this.#role.follower
    }
    const follower = new Follower(this.#with, { epoch, leader })
    this.#role = { kind: 'following', follower }
    return follower
  }

  #durable(position: LogPosition): void {
    this.#with.noteDurable(position)
    if (this.#role.kind === 'following') this.#role.follower.durableMoved()
    this.#leader?.durableMoved()
  }

  #readAsked({ token, isHeard }: Extract<Input, { kind: 'read_asked' }>): void {
    if (this.#leader === undefined) this.#with.emit({ kind: 'refuse_read', token })
    else this.#leader.read(token, isHeard)
  }

  #confirmed({ token, configuration }: Extract<Input, { kind: 'confirmed' }>): void {
    const isLeader = this.#leader?.isServing === true && this.#leader.epoch === configuration.epoch
    this.#with.emit({ kind: isLeader ? 'read' : 'refuse_read', token })
  }

  #ticked(): void {
    this.#takeOverIfNamed()
    this.#followIfAsked()
    this.#leader?.tick()
  }
}
