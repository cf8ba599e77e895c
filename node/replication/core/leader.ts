// The leader of one epoch. It sends its log, tracks its followers, and decides what is committed.
//
// Invariants:
//   L1  An entry is committed when it is on disk on every member of the maximal in-sync set: the
//       confirmed one, and the replica that is being added to it (W4).
//   L2  Nothing is committed while the confirmed set is below its minimum (W1, W4).
//   L3  At most one change of the set is under way; until its outcome is known, both outcomes count. A change that
//       is refused is over, so that a replica that went away meanwhile keeps nobody waiting.
//   L4  A replica is added when it has everything committed and the first entry of the epoch (I2).
//   L5  Grants that were asked for before the machine slept count no more (C1).
//   L6  A leader that lacks a committed entry, as another replica proves, commits and serves nothing from
//       then on, and abdicates.
//   L7  A member whose node is about to stop leaves the set while it still answers, so that nobody waits for it
//       later. It stays where too few would be left that were heard just now, and under a leader that is about to stop too.

import { must, unreachable } from '../../../lib/assert.ts'
import { ClosingTimes } from './closed-times.ts'
import type { ClosedPoint } from './messages.ts'
import {
  inSyncMember,
  isBelowMinimum,
  type InSyncChange,
  type NodeId,
  type ReplicaId,
  type ShardConfiguration,
} from './configuration.ts'
import { FollowerProgress, type ReplicaLag } from './follower-progress.ts'
import { LeaderReads } from './leader-reads.ts'
import type { EntryInfo, LogPosition } from './log-index.ts'
import type { AppendedMessage, MismatchMessage, PongMessage, RefusedMessage } from './messages.ts'
import type { ReplicaContext } from './replica-context.ts'

/** A member that was not heard for longer does not count as present. */
const PRESENT_HEARTBEATS = 3

/** How many replicas are in sync, and how many must be for a commit. */
export interface InSyncCount {
  readonly count: number
  readonly needed: number
}

type FollowersMessage = AppendedMessage | MismatchMessage | RefusedMessage | PongMessage

/** Leads one epoch, from the promise of it until somebody else is named. The invariants are above. */
export class Leader {
  readonly epoch: number
  readonly #with: ReplicaContext
  readonly #progress = new Map<NodeId, FollowerProgress>()
  readonly #reads: LeaderReads
  readonly #closing = new ClosingTimes()
  #isClosedTold = false
  #configuration: ShardConfiguration
  #pending: InSyncChange | undefined
  #askedMs = 0
  #refusedMs = -Infinity
  /** The first entry of this epoch; undefined until it is proposed. */
  #first: number | undefined
  #isServing = false
  #changes = 0
  #isResigning = false
  #isContradicted = false

  constructor(context: ReplicaContext, configuration: ShardConfiguration) {
    this.#with = context
    this.epoch = configuration.epoch
    this.#configuration = configuration
    this.#reads = new LeaderReads(context, this.epoch)
    this.#meetReplicas()
    context.emit({ kind: 'start_epoch', epoch: this.epoch })
  }

  /** Whether the first entry of the epoch is committed. */
  get isServing(): boolean {
    return this.#isServing && !this.#isContradicted
  }

  get isBelowMinimum(): boolean {
    return isBelowMinimum(this.#configuration)
  }

  /** The members of the in-sync set, and how many a commit needs. */
  get inSync(): InSyncCount {
    const { inSync, minInSync } = this.#configuration
    return { count: inSync.length, needed: minInSync }
  }

  /** How far each follower that has answered is behind. */
  lags(nowMs: number): ReadonlyMap<NodeId, ReplicaLag> {
    const { last } = this.#with.log
    const lags = new Map<NodeId, ReplicaLag>()
    for (const [node, progress] of this.#progress) {
      const lag = progress.lag(last.sequence, nowMs)
      if (lag !== undefined) lags.set(node, lag)
    }
    return lags
  }

  get followerCount(): number {
    return this.#progress.size
  }

  /** Whether time alone changes nothing but heartbeats. */
  get isIdle(): boolean {
    const isQuiet = this.#pending === undefined && !this.#reads.isWaiting
    return this.isServing && isQuiet && !this.#isResigning && this.#departing() === undefined
  }

  /** Whether the follower is in sync and knows the whole log, of which all is committed. */
  isAtRest(node: NodeId): boolean {
    const { log, committed } = this.#with
    const progress = this.#progress.get(node)
    const member = inSyncMember(this.#configuration, node)
    if (!this.isIdle || progress === undefined || member === undefined) return false
    return (
      member.incarnation === progress.incarnation &&
      committed === log.last.sequence &&
      progress.hasAll(log)
    )
  }

  beatAnswered(node: NodeId, sentMs: number): void {
    this.#progress.get(node)?.answerBeat(sentMs, this.#with.timing)
  }

  /** C1. */
  voidGrants(): void {
    for (const progress of this.#progress.values()) progress.voidGrants(this.#with.nowMs)
  }

  /** Whether the machine is asked for the next closed point. */
  get wantsClosed(): boolean {
    return this.#isServing && this.#closing.isWanting
  }

  /**
   * A point of the machine's, which holds from now on for what this leader appends. With `isTold` the followers
   * hear of it by a message of its own, because they rest and get no heartbeats.
   */
  close(point: ClosedPoint, isTold: boolean): void {
    if (!this.#isServing) return
    this.#settleClosed() // beats may have been answered since the last point was taken
    this.#isClosedTold = isTold
    this.#closing.take(point, this.#with.nowMs)
    this.#settleClosed() // with no follower nobody has to hear of it
  }

  /** A newer revision of the same leadership. */
  configure(configuration: ShardConfiguration): void {
    this.#configuration = configuration
    this.#pending = undefined
    this.#meetReplicas()
    this.#advance()
    this.#removeLeaving()
  }

  /** The context tells others that are about to stop, or fewer. */
  leavingChanged(): void {
    this.#removeLeaving()
  }

  /** L3. An answer with the revision that the change replaces is a refusal. */
  changeAnswered(operation: string, revision: number): void {
    const pending = this.#pending
    if (pending?.operation !== operation || pending.revision !== revision) return
    this.#pending = undefined
    this.#refusedMs = this.#with.nowMs
    this.#advance()
  }

  propose(entries: readonly EntryInfo[]): void {
    const { log } = this.#with
    for (const entry of entries) log.append(entry)
    this.#first ??= entries[0]?.sequence
    this.#with.emit({ kind: 'append', entries, truncateAfter: undefined })
    for (const node of this.#progress.keys()) this.#sendAll(node)
  }

  durableMoved(): void {
    this.#advance()
  }

  hear(from: ReplicaId, message: FollowersMessage): void {
    const progress = this.#meet(from)
    if (progress === undefined) return
    switch (message.kind) {
      case 'appended':
        return this.#appended(from, progress, message)
      case 'mismatch':
        return this.#mismatch(from, progress, message)
      case 'refused':
        return this.#refused(from, message)
      case 'pong':
        progress.confirm(message.round)
        return this.#reads.settle(this.#others())
      default:
        return unreachable(message)
    }
  }

  /** A read that is to see every write acknowledged before. With `isHeard` grants are not enough. */
  read(token: number, isHeard: boolean): void {
    if (!this.isServing) return this.#with.emit({ kind: 'refuse_read', token })
    if (this.isBelowMinimum) return this.#with.emit({ kind: 'confirm', token })
    this.#reads.ask(token, this.#others(), isHeard)
  }

  tick(): void {
    const { nowMs, timing } = this.#with
    for (const [node, progress] of this.#progress) {
      if (nowMs - progress.lastSentMs >= timing.heartbeatMs) this.#heartbeat(node, progress)
    }
    this.#removeLeaving()
    this.#removeLaggard()
    this.#resignIfPossible()
    this.#askAgain()
    this.#reads.expire()
  }

  /** This replica cannot serve: another member of the set shall lead, as soon as there is one. */
  resign(): void {
    this.#isResigning = true
    this.#resignIfPossible()
  }

  #resignIfPossible(): void {
    if (this.#pending !== undefined) return
    if (this.#isContradicted) return this.#change('abdicate', this.#with.self)
    if (this.#isResigning && this.#others().size > 0) this.#change('resign', this.#with.self)
  }

  /** L6. One that has the entry was refused for another one's, or has got it since. */
  #refused({ node }: ReplicaId, { held, isCommitted }: RefusedMessage): void {
    const { log } = this.#with
    const isBehind = held.sequence <= log.base.sequence
    if (this.#isContradicted || !isCommitted || isBehind || log.has(held)) return
    this.#isContradicted = true
    const { sequence, epoch } = held
    const reason = `${node} has entry ${sequence} of epoch ${epoch}, which is committed, and this leader lacks it`
    this.#reads.refuseAll()
    this.#with.emit({ kind: 'contradicted', reason })
    this.#resignIfPossible()
  }

  /** The leadership is over: nobody gets a read from it any more, so its grants bind nobody. */
  stop(): void {
    this.#reads.refuseAll()
    for (const node of this.#progress.keys()) {
      this.#with.send(node, { kind: 'release', epoch: this.epoch })
    }
    this.#with.emit({ kind: 'stop_leading', epoch: this.epoch })
  }

  #appended(from: ReplicaId, progress: FollowerProgress, message: AppendedMessage): void {
    progress.acknowledge(message, this.#with)
    this.#advance()
    this.#addIfReady(from, progress)
    this.#sendAll(from.node)
  }

  #mismatch({ node }: ReplicaId, progress: FollowerProgress, { hint }: MismatchMessage): void {
    const { log } = this.#with
    const joint = log.has(hint) ? hint : log.lastOfEpoch(hint.epoch, hint.sequence)
    if (joint === undefined) return this.#with.emit({ kind: 'snapshot', to: node })
    progress.probeAfter(joint.sequence)
    this.#send(node, progress, joint.sequence)
  }

  /** L1, L2. */
  #advance(): void {
    if (this.#isContradicted) return
    if (this.isBelowMinimum) return
    let reached = this.#with.durable
    for (const { matched } of this.#others().values()) reached = Math.min(reached, matched)
    this.#with.commit(reached)
    this.#settleClosed()
    if (this.#isServing || this.#first === undefined || this.#with.committed < this.#first) return
    this.#isServing = true
    this.#with.emit({ kind: 'serve', epoch: this.epoch })
    // Now the leader before this one learns what became of its last entries, and its writers wait for that.
    for (const [node, progress] of this.#progress) this.#heartbeat(node, progress)
  }

  /** CT2. Below its minimum the set may get a leader that is not among its members, so nothing is closed. */
  #settleClosed(): void {
    if (this.isBelowMinimum) return
    const point = this.#closing.settle(this.#with.committed, this.#others())
    if (point === undefined) return
    this.#with.closed.note(point)
    if (!this.#isClosedTold) return // the next append or heartbeat has it
    const message = { kind: 'closed', epoch: this.epoch, point } as const
    for (const node of this.#progress.keys()) this.#with.send(node, message)
  }

  /** The members of the maximal in-sync set without the leader itself. */
  #others(): ReadonlyMap<NodeId, FollowerProgress> {
    const nodes = this.#configuration.inSync.map(({ node }) => node)
    if (this.#pending?.kind === 'add') nodes.push(this.#pending.replica.node)
    const others = new Map<NodeId, FollowerProgress>()
    for (const node of nodes) {
      if (node === this.#with.self.node) continue
      others.set(node, must(this.#progress.get(node), 'the progress of an in-sync member'))
    }
    return others
  }

  #meetReplicas(): void {
    const { self, log, nowMs } = this.#with
    const { replicas, inSync } = this.#configuration
    const wanted = new Set([...replicas, ...inSync.map(({ node }) => node)])
    wanted.delete(self.node)
    for (const node of this.#progress.keys()) if (!wanted.has(node)) this.#progress.delete(node)
    for (const node of wanted) {
      if (this.#progress.has(node)) continue
      const progress = new FollowerProgress(log.last.sequence + 1, nowMs)
      this.#progress.set(node, progress)
      this.#heartbeat(node, progress)
    }
  }

  #meet({ node, incarnation }: ReplicaId): FollowerProgress | undefined {
    const progress = this.#progress.get(node)
    if (progress === undefined) return undefined
    if (incarnation < (progress.incarnation ?? 0)) return undefined // a message from an earlier life
    progress.meet(incarnation, this.#with.log.last.sequence)
    return progress
  }

  #sendAll(node: NodeId): void {
    const progress = must(this.#progress.get(node), 'the progress of a follower')
    for (;;) {
      const before = progress.next - 1
      const through = progress.takeNext(this.#with)
      if (through === undefined) return
      this.#send(node, progress, through, before)
    }
  }

  #heartbeat(node: NodeId, progress: FollowerProgress): void {
    this.#send(node, progress, progress.next - 1)
  }

  #send(node: NodeId, progress: FollowerProgress, through: number, before = through): void {
    const { log, nowMs, committed } = this.#with
    const previous: LogPosition = log.positionAt(before) ?? log.base
    progress.lastSentMs = nowMs
    const isNews = progress.tell(committed)
    const order = {
      kind: 'append' as const,
      to: node,
      epoch: this.epoch,
      previous,
      through: Math.max(through, previous.sequence),
      committed,
      sentMs: nowMs,
      logEnd: log.last.sequence,
      closed: this.#with.closed.newest,
      isNews,
    }
    this.#with.emit({ kind: 'replicate', order })
  }

  /** L7. */
  #removeLeaving(): void {
    const { nowMs, timing } = this.#with
    if (this.#pending !== undefined || nowMs - this.#refusedMs < timing.changeRetryMs) return
    const departing = this.#departing()
    if (departing !== undefined) this.#change('remove', departing)
  }

  #departing(): ReplicaId | undefined {
    const { leaving, self } = this.#with
    if (leaving.size === 0 || this.#with.isLeaving(self)) return undefined
    const { inSync, minInSync } = this.#configuration
    const departing = inSync.find(({ node, incarnation }) => {
      return node !== self.node && leaving.get(node) === incarnation
    })
    if (departing === undefined) return undefined
    const left = inSync.filter(({ node }) => node !== departing.node && this.#isPresent(node))
    return left.length < minInSync ? undefined : departing
  }

  /** Whether the member was heard just now: a silent one may be gone, and cannot replace one that leaves. */
  #isPresent(node: NodeId): boolean {
    const { nowMs, timing, self } = this.#with
    if (node === self.node) return true
    const { caughtUpMs } = must(this.#progress.get(node), 'the progress of an in-sync member')
    return nowMs - caughtUpMs <= PRESENT_HEARTBEATS * timing.heartbeatMs
  }

  /** I1. The set may fall below its minimum by this: then nothing is committed before it grows. */
  #removeLaggard(): void {
    if (this.#pending !== undefined) return
    const { nowMs, timing, self } = this.#with
    const laggard = this.#configuration.inSync.find(({ node }) => {
      if (node === self.node) return false
      const progress = must(this.#progress.get(node), 'the progress of an in-sync member')
      return nowMs - progress.caughtUpMs > timing.lagMaxMs
    })
    if (laggard !== undefined) this.#change('remove', laggard)
  }

  /** L4. A member that restarted is added again under its new incarnation. */
  #addIfReady(replica: ReplicaId, progress: FollowerProgress): void {
    if (this.#pending !== undefined || this.#first === undefined) return
    if (this.#with.isLeaving(replica)) return
    const { replicas } = this.#configuration
    const member = inSyncMember(this.#configuration, replica.node)
    if (member?.incarnation === replica.incarnation || !replicas.includes(replica.node)) return
    const { nowMs, timing, committed } = this.#with
    if (nowMs - this.#refusedMs < timing.changeRetryMs) return
    if (nowMs - progress.caughtUpMs > timing.lagMaxMs / 2) return
    if (progress.matched < Math.max(committed, this.#first)) return
    this.#change('add', replica)
  }

  #change(kind: InSyncChange['kind'], replica: ReplicaId): void {
    const { self } = this.#with
    this.#changes += 1
    const operation = `${self.node}/${self.incarnation}/${this.epoch}/${this.#changes}`
    const { revision } = this.#configuration
    const change: InSyncChange = { operation, epoch: this.epoch, revision, kind, replica }
    this.#pending = change
    this.#ask(change)
  }

  /** The request may be lost. Asking twice does no harm: it holds for one revision. */
  #askAgain(): void {
    const { nowMs, timing } = this.#with
    if (this.#pending === undefined || nowMs - this.#askedMs < timing.changeRetryMs) return
    this.#ask(this.#pending)
  }

  #ask(change: InSyncChange): void {
    this.#askedMs = this.#with.nowMs
    this.#with.emit({ kind: 'change', change })
  }
}
