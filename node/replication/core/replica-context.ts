import { assert } from '../../../lib/assert.ts'
import { ClosedTimes } from './closed-times.ts'
import type { NodeId, ReplicaId } from './configuration.ts'
import type { Effect } from './effects.ts'
import type { LogIndex, LogPosition } from './log-index.ts'
import type { ReplicationMessage } from './messages.ts'
import type { ReplicationTiming } from './timing.ts'

/** Where a replica's durable state stands when its core begins. All of it has been on disk. */
export interface ReplicaStart {
  readonly self: ReplicaId
  readonly timing: ReplicationTiming
  readonly log: LogIndex
  /** The highest epoch that this replica has promised to follow. */
  readonly promised: number
  /** Entries up to here were known as committed. */
  readonly committed: number
}

/**
 * What both roles of a replica share: its log, what of it is on disk and committed, the time of the
 * input that is being worked on, and the effects so far.
 *
 * Invariants:
 *   RC1  committed <= durable <= the last entry (INV-R5), and `committed` never decreases (INV-R4).
 *   RC2  The log is never truncated below `committed` (E3): a follower refuses its leader before that.
 */
export class ReplicaContext {
  readonly self: ReplicaId
  readonly timing: ReplicationTiming
  readonly log: LogIndex
  readonly closed = new ClosedTimes()
  /** Nodes that are about to stop, with the lives that end. */
  leaving: ReadonlyMap<NodeId, number> = new Map()
  nowMs = 0
  #durable: number
  #committed: number
  #effects: Effect[] = []

  constructor({ self, timing, log, committed }: ReplicaStart) {
    this.self = self
    this.timing = timing
    this.log = log
    this.#durable = log.last.sequence
    this.#committed = Math.min(Math.max(committed, log.base.sequence), this.#durable)
  }

  /** Entries up to here are on this replica's disk. */
  get durable(): number {
    return this.#durable
  }

  get committed(): number {
    return this.#committed
  }

  isLeaving({ node, incarnation }: ReplicaId): boolean {
    return this.leaving.get(node) === incarnation
  }

  emit(effect: Effect): void {
    this.#effects.push(effect)
  }

  send(to: NodeId, message: ReplicationMessage): void {
    this.emit({ kind: 'send', to, message })
  }

  takeEffects(): readonly Effect[] {
    const effects = this.#effects
    this.#effects = []
    return effects
  }

  /** A late report about an entry that was truncated meanwhile says nothing. */
  noteDurable(position: LogPosition): void {
    if (this.log.has(position)) this.#durable = Math.max(this.#durable, position.sequence)
  }

  commit(through: number): void {
    const reached = Math.min(through, this.#durable)
    if (reached <= this.#committed) return
    this.#committed = reached
    this.emit({ kind: 'commit', through: reached })
  }

  /** RC2. */
  truncateAfter(sequence: number): void {
    assert(sequence >= this.#committed, 'committed entries are not removed')
    this.log.truncateAfter(sequence)
    this.#durable = Math.min(this.#durable, sequence)
  }

  /** A snapshot took the place of the log. */
  restart(base: LogPosition): void {
    this.log.restart(base)
    this.#durable = base.sequence
    this.#committed = Math.max(this.#committed, base.sequence)
  }
}
