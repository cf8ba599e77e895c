// The replica of a shard that lives in this process: its log, its state, its store and the indexes that
// follow the log. local-shard.ts has the calls that any node may make, led-shard.ts those of the leader.
// Both work on this replica.

import { must } from '../../lib/assert.ts'
import type { AdmitWrite } from '../storage/disk-guard.ts'
import type { Clock } from '../../lib/clock.ts'
import { isServiceError, ServiceError } from '../../lib/errors.ts'
import { millisOf, type HybridClock } from '../clock/hybrid-clock.ts'
import type { Journal } from '../journal/journal.ts'
import type { JointReading } from '../journal/joint-reading.ts'
import type { JournalEntry } from '../journal/journal-reader.ts'
import type { TtlPolicy } from '../schema/document-rules.ts'
import type { KvStore } from '../storage/kv-store.ts'
import { COMMAND_BYTES, type Command, type CommandKind, type OutcomeOf } from './command/command.ts'
import { ProposedCommand } from './apply/proposed-command.ts'
import type { ChunkedIndex } from './following/chunked-indexes.ts'
import { ShardEnrichers } from './following/shard-enrichers.ts'
import { behindOf, totalBehind, type DocumentsBehind } from './following/documents-behind.ts'
import type { IndexVersions } from './following/index-versions.ts'
import type { LogTally } from './following/log-tally.ts'
import { ShardIndexes, type IndexParts } from './following/shard-indexes.ts'
import type { KeyRange } from './command/key-range.ts'
import type { ProposalOptions } from './proposal.ts'
import { notLeader } from '../replication/shell/replicated-log.ts'
import { ReplicatedReplica, type ReplicationParts } from './replicated-replica.ts'
import { HistoryPins } from './history-pins.ts'
import { ReleaseWaiters } from './release-waiters.ts'
import { replayLog } from './replay.ts'
import { ShardLog } from './shard-log.ts'
import { ShardState } from './shard-state.ts'
import type { ShardCondition } from './shard.ts'
import type { ShardId } from './shard-id.ts'
import type { ShardRouter } from './shard-router.ts'
import type { TableSettings } from './command/table-settings.ts'

/** The parts of a replica. It closes `store`, and none of the others. */
export interface ReplicaOptions {
  readonly id: ShardId
  readonly range: KeyRange
  /** The replica owns it. The journal holds every durable entry that it lacks. */
  readonly store: KvStore
  readonly journal: Journal
  /** The reading of the journal that all shards of a start have in common; absent: the replica has its own. */
  readonly reading?: Pick<JointReading, 'entries'> | undefined
  /** Throws DISK_FULL when the disk has no room for the write. */
  readonly admit?: AdmitWrite | undefined
  readonly hybridClock: HybridClock
  readonly clock: Clock
  readonly router: ShardRouter
  readonly settings: TableSettings
  /** Absent: the shard has no indexes. */
  readonly indexes?: IndexParts | undefined
  /** Absent: the shard has one replica, this one, which leads it from its opening to its close. */
  readonly replication?: ReplicationParts | undefined
}

/** Owns its log, state, store and indexes, and closes them. An answered write survives a crash. */
export class Replica {
  readonly id: ShardId
  readonly store: KvStore
  readonly options: ReplicaOptions
  readonly state: ShardState
  readonly log: ShardLog
  /** The callers that wait until a transaction has released its keys here. */
  readonly waiters: ReleaseWaiters
  readonly indexes: ShardIndexes | undefined
  /** Those of the leader, while this replica leads. */
  readonly enrichers = new ShardEnrichers()
  readonly replicated: ReplicatedReplica | undefined
  /** What readers need of the history, while this replica leads. */
  readonly pins: HistoryPins
  #trouble: ServiceError | undefined
  #sealed = false
  #closed: Promise<void> | undefined

  private constructor(options: ReplicaOptions, state: ShardState, waiters: ReleaseWaiters) {
    this.id = options.id
    this.store = options.store
    this.options = options
    this.state = state
    this.waiters = waiters
    const { id, journal, indexes, clock, settings } = options
    this.replicated = this.#buildReplicated()
    this.pins = new HistoryPins(clock)
    const admit: AdmitWrite = (bytes, frees) => {
      this.replicated?.assertWritable()
      options.admit?.(bytes, frees)
    }
    const suspended = this.replicated && notLeader()
    const of = { id, state, clock, admit, suspended }
    this.log = new ShardLog({ ...of, journal: this.replicated?.log ?? journal })
    this.indexes = indexes && new ShardIndexes(this, indexes, { clock, settings })
  }

  /** Replays the entries that the journal has and the store lacks. */
  static async open(options: ReplicaOptions): Promise<Replica> {
    const waiters = new ReleaseWaiters(options.clock)
    const { id, range, store, journal, hybridClock, clock, settings } = options
    const state = new ShardState({
      id,
      range,
      store,
      hybridClock,
      clock,
      settings,
      onReleased: (ids) => waiters.wake(ids),
    })
    const from = state.storedPosition()
    if (from.crc !== 0 && journal.isNew) throw lostJournalError()
    const committed = options.replication?.start.committed ?? Infinity
    const reading = options.reading ?? journal
    await replayLog(store, from, through(committed, reading.entries(id, from.sequence)))
    await state.rebuild()
    const replica = new Replica(options, state, waiters)
    journal.register(id, { flush: () => replica.#flush() }, from.sequence)
    return replica
  }

  #buildReplicated(): ReplicatedReplica | undefined {
    const { id, journal, hybridClock, clock, replication } = this.options
    if (replication === undefined) return undefined
    const { state } = this
    const parts = { id, state, journal, hybridClock, clock, proposals: () => this.log }
    return new ReplicatedReplica({ ...replication, ...parts })
  }

  get ttl(): TtlPolicy | undefined {
    return this.state.settings.ttl
  }

  /** The newest log entry that is durable. */
  get committedSequence(): number {
    return this.state.committedSequence
  }

  /** The newest log entry whose effects are in the store. */
  get appliedSequence(): number {
    return this.state.appliedSequence
  }

  get tally(): LogTally {
    return this.state.tally
  }

  /** The indexes whose chunks full-text indexes have, too. */
  get chunked(): readonly ChunkedIndex[] {
    return this.indexes?.chunked ?? []
  }

  /** The shard has no more documents than this. */
  get documentsMax(): number {
    return this.state.documentsMax
  }

  /** What searches of the index may lack (DB1). */
  behind(index: Pick<IndexVersions, 'definition' | 'taken'>): DocumentsBehind {
    return behindOf(this, index.definition, index.taken)
  }

  /** The count of the index that lacks most documents. */
  get documentsBehind(): number {
    const counts = [...(this.indexes?.all ?? [])].map((index) => totalBehind(this.behind(index)))
    return Math.max(0, ...counts)
  }

  /** Calls `listener` when the store has grown; it must be cheap. Returns its removal. */
  onApplied(listener: () => void): () => void {
    return this.state.onApplied(listener)
  }

  /** The time at which readers judge expiry: hybrid time, so that a lookup and a commit's check agree. */
  get nowMs(): number {
    return this.ttl === undefined ? 0 : millisOf(this.options.hybridClock.readPoint())
  }

  async propose<Kind extends CommandKind>(
    command: Command<Kind>,
    options: Partial<ProposalOptions> = {},
  ): Promise<OutcomeOf[Kind]> {
    try {
      const proposed = new ProposedCommand(command, this.state.settings)
      await this.log.propose(proposed, { bytes: COMMAND_BYTES, ...options })
      this.#trouble = undefined
      return must(proposed.outcome, 'the outcome of an applied command').value
    } catch (error) {
      this.noteTrouble(error)
      throw error
    }
  }

  /** Remembers an error that `condition` must tell. */
  noteTrouble(error: unknown): void {
    if (isServiceError(error) && isTrouble(error)) this.#trouble = error
  }

  condition(): ShardCondition {
    const trouble = this.log.storeTrouble ?? this.#trouble ?? this.store.damage
    const { documentsBehind } = this
    if (trouble === undefined) return { kind: 'serving', documentsBehind }
    const reason = trouble.message
    if (trouble.code === 'DISK_FULL') return { kind: 'read_only', reason, documentsBehind }
    return { kind: 'failed', reason }
  }

  /** Refuses new writes and prepares from now on. Begun transactions can still end. */
  async seal(): Promise<void> {
    this.#sealed = true
    await this.enrichers.end()
    await this.log.idle()
  }

  /** The refusal of new writes and prepares after `seal`; undefined before it. */
  get sealedError(): ServiceError | undefined {
    if (!this.#sealed) return undefined
    return new ServiceError('NOT_FOUND', 'the table was dropped; create it first')
  }

  /**
   * Answers what was proposed and flushes the store, so that the next start replays nothing. With
   * `drop` the replica goes for good, and the journal need not keep its entries.
   */
  async close(entries: 'keep' | 'drop'): Promise<void> {
    this.#closed ??= this.#close(entries)
    await this.#closed
  }

  async #close(entries: 'keep' | 'drop'): Promise<void> {
    // Otherwise enrichers and the log would wait for followers, which may be gone.
    this.replicated?.retire()
    await this.enrichers.end()
    // The indexes take in what the store has: then the next start replays nothing for them either.
    await this.log.settled().catch(() => undefined)
    await this.indexes?.close({ flush: !this.#sealed })
    await this.log.close()
    await this.replicated?.close()
    const { id, journal } = this.options
    if (entries === 'keep') {
      // Where the store refuses, the journal still has everything.
      await this.#flush().then(
        (sequence) => journal.flushed(id, sequence),
        () => undefined,
      )
    }
    journal.unregister(id, entries)
    await this.store.close()
  }

  /** Makes the store durable; answers up to which log entry it is. */
  async #flush(): Promise<number> {
    await this.log.applied()
    const sequence = this.appliedSequence
    await this.store.flush()
    this.replicated?.log.flushed(sequence)
    return sequence
  }
}

/** Entries behind `last` are not known as committed: their leader may take them back. */
async function* through(
  last: number,
  pages: AsyncIterable<readonly JournalEntry[]>,
): AsyncGenerator<readonly JournalEntry[], undefined> {
  for await (const page of pages) {
    const committed = page.filter(({ sequence }) => sequence <= last)
    yield committed
    if (committed.length < page.length) return undefined
  }
  return undefined
}

/** The store was written from a journal, which is never empty then. */
function lostJournalError(): ServiceError {
  return new ServiceError(
    'CORRUPTION',
    'the journal of the data directory is missing, and the last acknowledged writes with it; ' +
      'bring it back, or restore the data directory from a backup or a replica',
  )
}

function isTrouble({ code }: ServiceError): boolean {
  return code === 'DISK_FULL' || code === 'CORRUPTION'
}
