// What a replica of a shard does on several nodes: it applies what its leader has committed, and takes over
// when the log says that it leads. replica.ts starts it; without replication it does not exist.
//
// Invariants:
//   RP1  One writer at a time writes the store: the applier here, or the log's feed while the replica leads.
//   RP2  The replica serves when its store has every entry that was committed before its leadership, and its
//        memory was built from that store (RS3).
//   RP3  `servedFrom` is not below what any earlier leader had committed, so not below what its indexes showed.

import type { Clock } from '../../lib/clock.ts'
import { messageOf, ServiceError } from '../../lib/errors.ts'
import type { Log } from '../../lib/log.ts'
import type { SleepWatch } from '../../lib/sleep-watch.ts'
import type { AppendedEntry } from '../journal/batch-writer.ts'
import type { Journal } from '../journal/journal.ts'
import type { LogPosition } from '../journal/log-position.ts'
import type { HybridClock, Timestamp } from '../clock/hybrid-clock.ts'
import type { ClosedPoint } from '../replication/core/messages.ts'
import type { NodeId, ReplicaId } from '../replication/core/configuration.ts'
import type { InSyncCount } from '../replication/core/leader.ts'
import type { ReplicationTiming } from '../replication/core/timing.ts'
import type { ReplicaLog } from '../replication/log/replica-log.ts'
import { notLeader, ReplicatedLog } from '../replication/shell/replicated-log.ts'
import type {
  ReplicaControl,
  ReplicaMachine,
  ReplicaNetwork,
} from '../replication/shell/replica-surroundings.ts'
import type { RestOffers } from '../replication/shell/resting-log.ts'
import { CommittedApplier } from './committed-applier.ts'
import type { ShardId } from './shard-id.ts'
import type { ShardLog } from './shard-log.ts'
import type { ShardState } from './shard-state.ts'

/** How a replica takes part in its shard. */
export interface ReplicationParts {
  readonly self: ReplicaId
  /** As `openReplicaLogs` found this replica's log. */
  readonly start: ReplicaLog
  readonly network: ReplicaNetwork
  readonly control: ReplicaControl
  readonly timing?: ReplicationTiming
  /** See ReplicatedLogOptions. */
  readonly beats?: RestOffers | undefined
  readonly sleeps?: SleepWatch | undefined
  readonly log: Log
  /** This replica serves, or serves no more. */
  readonly onLeadership?: (isLeading: boolean) => void
  /** A follower lacks entries that the journal has no longer. */
  readonly offerSnapshot?: (to: NodeId) => void
  /** This follower has proof against its leader. */
  readonly onRefusedLeader?: () => void
  /** Another replica has proof that this one, which led, lacks what was committed. */
  readonly onContradicted?: () => void
}

/** What the replicated part works with. */
export interface ReplicatedReplicaOptions extends ReplicationParts {
  readonly id: ShardId
  readonly state: ShardState
  readonly journal: Journal
  readonly hybridClock: HybridClock
  readonly clock: Clock
  /** The log of proposals, which is built after this. */
  readonly proposals: () => ShardLog
}

/** The replicated log of one replica and its state machine. */
export class ReplicatedReplica implements ReplicaMachine {
  readonly log: ReplicatedLog
  readonly #with: ReplicatedReplicaOptions
  readonly #applier: CommittedApplier
  /** The epoch in which the log of proposals writes the store here. */
  #served: number | undefined
  /** The same epoch, once the memory was built for it (RP2): an earlier leadership's holds name old values. */
  #ready: number | undefined
  #servedFrom = 0
  #isRetired = false
  /** From the end of a leadership until the log of proposals writes the store no more. */
  #isStopping = false
  /** Ends when the log of proposals writes the store no more. */
  #stopping: Promise<void> = Promise.resolve()

  constructor(options: ReplicatedReplicaOptions) {
    this.#with = options
    const { id: logId, self, start, journal, clock, hybridClock, log, network, control } = options
    const timing = options.timing === undefined ? {} : { timing: options.timing }
    const { beats, sleeps } = options
    const shared = { journal, clock, hybridClock, log, network, control, beats, sleeps }
    const parts = { self, logId, start, ...shared }
    this.log = new ReplicatedLog({ ...parts, ...timing, machine: this })
    const { state } = options
    this.#applier = new CommittedApplier({ state, log: this.log, index: start.log, clock })
  }

  /** Whether reads and writes are served here. */
  get isServing(): boolean {
    return this.#ready !== undefined && this.#ready === this.log.epoch && this.log.isLeading
  }

  /** The epoch in which this replica serves now; undefined if it does not. */
  get servedEpoch(): number | undefined {
    return this.isServing ? this.#ready : undefined
  }

  /** The newest log entry that was committed when this replica began to serve; 0 if it never did (RP3). */
  get servedFrom(): number {
    return this.#servedFrom
  }

  /** True if a read sees every acknowledged write now. Otherwise it resolves when one does. */
  mayRead(): true | Promise<void> {
    return this.isServing ? this.log.read() : Promise.reject(notLeader())
  }

  /**
   * As `mayRead`, for a read at this time: nothing commits at or below it any more, under this leader or a later one
   * whose clock is behind.
   */
  async mayReadAt(at: Timestamp): Promise<void> {
    if (!this.isServing) throw notLeader()
    this.#with.hybridClock.observe(at)
    await this.log.read(true)
  }

  /** Throws NOT_LEADER: only the leader's memory knows transactions and holds. */
  assertServing(): void {
    if (!this.isServing) throw notLeader()
  }

  /** Throws what refuses a write, of which nothing has happened then. */
  assertWritable(): void {
    this.assertServing()
    const { trouble } = this.log
    if (trouble !== undefined) throw trouble
    if (this.log.admission === 'under_replicated') throw tooFewInSync(this.log.inSync)
  }

  committed(through: number): void {
    // While the feed still writes the store, the end of that follows what is committed by then (RP1).
    if (this.#served === undefined && !this.#isStopping) this.#applier.follow(through)
  }

  closedPoint(): ClosedPoint | undefined {
    return this.isServing ? this.#with.state.closedPoint() : undefined
  }

  startEntry(epoch: number, previous: LogPosition): AppendedEntry {
    return this.#with.state.startEntry(epoch, previous)
  }

  serve(epoch: number): void {
    void this.#serve(epoch).catch((error: unknown) => {
      this.#failed(error)
      // A leader that serves nobody would keep the others from leading.
      this.stopLeading()
      this.log.resign(epoch)
    })
  }

  stopLeading(): void {
    if (this.#served === undefined) return
    this.#served = undefined
    this.#ready = undefined
    this.#with.onLeadership?.(false)
    const unknown = new ServiceError(
      'UNAVAILABLE',
      'the leadership of the shard ended before the write was confirmed; its outcome is unknown',
    )
    const fates = this.log.depose()
    this.#isStopping = true
    this.#stopping = this.#with.proposals().suspend({ refusal: notLeader(), unknown, fates })
    void this.#stopping.then(
      () => {
        this.#isStopping = false
        this.#applier.follow(this.log.committed)
      },
      (error: unknown) => this.#failed(error),
    )
  }

  offerSnapshot(to: NodeId): void {
    this.#with.offerSnapshot?.(to)
  }

  refusedLeader(reason: string): void {
    const { id, log, onRefusedLeader } = this.#with
    log.error('a replica refuses its leader, and keeps what it has', { shard: id, reason })
    onRefusedLeader?.()
  }

  contradicted(reason: string): void {
    const { id, log, onContradicted } = this.#with
    log.error('a leader lacks what was committed, and leads no more', { shard: id, reason })
    this.stopLeading()
    onContradicted?.()
  }

  /** This replica leads no more, whatever others think, and hears of no other leader. */
  retire(): void {
    this.#isRetired = true
    this.stopLeading()
    this.log.giveUp()
  }

  async close(): Promise<void> {
    await this.log.close()
    await this.#applier.close()
  }

  async #serve(epoch: number): Promise<void> {
    await this.#stopping
    const { committed } = this.log
    await this.#applier.reached(committed)
    const isStillLeading = (): boolean =>
      this.log.isLeading && this.log.epoch === epoch && !this.#isRetired
    if (!isStillLeading()) return
    const { state, proposals, onLeadership } = this.#with
    state.leadIn(epoch)
    // From here on the feed of the log of proposals writes the store (RP1).
    this.#served = epoch
    await proposals().resume()
    if (!isStillLeading() || this.#served !== epoch) return
    this.#servedFrom = committed
    this.#ready = epoch
    onLeadership?.(true)
  }

  #failed(error: unknown): void {
    if (this.#isRetired) return
    const fields = { shard: this.#with.id, error: messageOf(error) }
    this.#with.log.error('replica cannot lead', fields)
  }
}

function tooFewInSync({ count, needed }: InSyncCount = { count: 0, needed: 1 }): ServiceError {
  const are = count === 1 ? '1 replica of the shard is' : `${count} replicas of the shard are`
  return new ServiceError(
    'TOO_FEW_IN_SYNC',
    `${are} in sync, and ${needed} are needed to write safely; try again later`,
  )
}
