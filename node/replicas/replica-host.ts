// The replicas of shards that live on this node of a cluster: opened over their logs, kept in time, reached by
// the messages of others.
//
// Invariants:
//   RH1  All logs of the data directory are read before the first replica appends anything.
//   RH2  A store without a log that fits, or that is damaged, is never served. It stays on disk until somebody
//        removes it.

import { must } from '../../lib/assert.ts'
import type { AdmitWrite } from '../storage/disk-guard.ts'
import type { Clock } from '../../lib/clock.ts'
import { isServiceError, messageOf, ServiceError } from '../../lib/errors.ts'
import type { Log } from '../../lib/log.ts'
import { SleepWatch } from '../../lib/sleep-watch.ts'
import type { HybridClock } from '../clock/hybrid-clock.ts'
import type { ShardConfigurations, ShardName } from '../cluster/shard-configurations.ts'
import type { Journal } from '../journal/journal.ts'
import type { NodeId, ReplicaId, ShardConfiguration } from '../replication/core/configuration.ts'
import { LogIndex, type LogPosition } from '../replication/core/log-index.ts'
import { REPLICATION_TIMING, type ReplicationTiming } from '../replication/core/timing.ts'
import { openReplicaLogs, type ReplicaLog } from '../replication/log/replica-log.ts'
import { shardOfMessage } from '../replication/shell/message-codec.ts'
import { NodeBeats, type BeatNetwork } from '../replication/shell/node-beats.ts'
import type { ReplicatedLog } from '../replication/shell/replicated-log.ts'
import type { ReplicaNetwork } from '../replication/shell/replica-surroundings.ts'
import type { RestingLog } from '../replication/shell/resting-log.ts'
import type { TableSettings } from '../shard/command/table-settings.ts'
import type { IndexParts } from '../shard/following/shard-indexes.ts'
import { ShardIndexes } from '../shard/following/shard-indexes.ts'
import { LOG_START, storedPosition } from '../shard/format/applied-position.ts'
import { LocalShard } from '../shard/local-shard.ts'
import { parseShardId, type ShardId } from '../shard/shard-id.ts'
import type { ShardRouter } from '../shard/shard-router.ts'
import type { KvStore, KvStoreFactory } from '../storage/kv-store.ts'
import type { LedShards } from '../catalog/tables/led-shards.ts'
import type { ShardRecord } from '../catalog/records/shard-record.ts'
import { ReplicaCounts } from './replica-counts.ts'
import { ClosingRound } from './closing-round.ts'

/** How often each replica is told that time passes. Heartbeats are due every 250 ms. */
const TICK_MS = 50

/** What all replicas of the node share. The host closes replicas and stores, and none of these parts. */
export interface ReplicaHostOptions {
  readonly self: ReplicaId
  readonly stores: KvStoreFactory
  readonly journal: Journal
  /** Throws DISK_FULL when the disk has no room for the write. */
  readonly admit?: AdmitWrite | undefined
  readonly hybridClock: HybridClock
  readonly clock: Clock
  readonly log: Log
  readonly router: ShardRouter
  readonly configurations: ShardConfigurations
  readonly network: ReplicaNetwork & BeatNetwork
  /** Undefined: the shards have no indexes. */
  readonly indexes: IndexParts | undefined
  /** Has the shards that this node leads, at each moment. */
  readonly led: LedShards
  readonly counts?: ReplicaCounts
  readonly timing?: ReplicationTiming
  /** Another node has proof that a replica here lacks what it acknowledged: the data directory went back. */
  readonly onContradicted?: () => void
  /** A follower of a shard that this node leads lacks entries that the journal has no longer. */
  readonly offerSnapshot?: (id: ShardId, to: NodeId) => void
}

/** An open replica and its table. */
export interface HostedReplica {
  readonly shard: LocalShard
  readonly settings: TableSettings
}

interface Hosted extends HostedReplica {
  readonly stopListening: () => void
}

/** A store from an earlier life of the node, with its log or what is wrong with it. */
type FoundStore =
  | { readonly store: KvStore; readonly log: ReplicaLog | ServiceError }
  /** The store does not open. */
  | { readonly store: undefined; readonly log: ServiceError }

/** Opens, closes and removes the replicas of this node. */
export class ReplicaHost {
  readonly #with: ReplicaHostOptions
  readonly #counts: ReplicaCounts
  readonly #hosted = new Map<ShardId, Hosted>()
  /** What the disk had at the start and nobody has opened yet. */
  readonly #found: Map<ShardId, FoundStore>
  readonly #replacing = new Set<ShardId>()
  readonly #servingListeners = new Map<ShardId, Set<() => void>>()
  readonly #beats: NodeBeats
  readonly #sleeps: SleepWatch
  readonly #stopTicks: () => Promise<void>
  readonly #stopBeats: () => Promise<void>
  readonly #stopHearing: () => void

  private constructor(options: ReplicaHostOptions, found: Map<ShardId, FoundStore>) {
    this.#with = options
    this.#counts = options.counts ?? new ReplicaCounts()
    this.#found = found
    const { self, network, hybridClock, clock, timing = REPLICATION_TIMING } = options
    const find = (id: string): RestingLog | undefined => this.#restingLog(id)
    this.#beats = new NodeBeats({ self, network, hybridClock, clock, find })
    this.#sleeps = new SleepWatch(clock)
    this.#stopTicks = clock.every(TICK_MS, async () => this.tick())
    const { heartbeatMs } = timing
    const { configurations } = options
    this.#stopHearing = configurations.onLeaving(() => {
      for (const log of this.#logs()) log.leaving(configurations.leaving())
    })
    const closing = new ClosingRound(() => this.#logs())
    this.#stopBeats = clock.every(heartbeatMs, async () => {
      this.#beats.beat()
      closing.pass(heartbeatMs)
    })
  }

  /** RH1. Reads the logs of all stores that the disk has, in one pass over the journal. */
  static async open(options: ReplicaHostOptions): Promise<ReplicaHost> {
    const { stores, journal } = options
    const opened = new Map<ShardId, KvStore>()
    const positions = new Map<ShardId, LogPosition>()
    const found = new Map<ShardId, FoundStore>()
    for (const name of await stores.list()) {
      const id = parseShardId(name)
      const store = await openWhole(stores, id)
      if (store instanceof ServiceError) {
        found.set(id, { store: undefined, log: store })
        continue
      }
      opened.set(id, store.store)
      positions.set(id, store.position)
    }
    const logs = await openReplicaLogs(journal, positions)
    journal.retainOnly(new Set(opened.keys()))
    for (const [id, store] of opened) found.set(id, { store, log: logs.get(id) ?? newLog() })
    return new ReplicaHost(options, found)
  }

  /** The replicas on disk that are damaged, with the reason. They have to be built anew. */
  get damaged(): ReadonlyMap<ShardId, ServiceError> {
    const damaged = new Map<ShardId, ServiceError>()
    for (const [id, { log }] of this.#found) if (log instanceof ServiceError) damaged.set(id, log)
    return damaged
  }

  /** The replicas on disk that nobody has opened: their tables may be gone, or their shards elsewhere. */
  get unopened(): readonly ShardId[] {
    return [...this.#found.keys()]
  }

  /** Whether the disk has the replica, opened or not. */
  has(id: ShardId): boolean {
    return this.#hosted.has(id) || this.#found.has(id)
  }

  find(id: ShardId): LocalShard | undefined {
    return this.#hosted.get(id)?.shard
  }

  /** Calls `listener`, which must not throw, when the replica serves or serves no more. Returns how to stop. */
  onServing(id: ShardId, listener: () => void): () => void {
    const listeners = this.#servingListeners.get(id) ?? new Set()
    this.#servingListeners.set(id, listeners)
    listeners.add(listener)
    return () => {
      listeners.delete(listener)
      if (listeners.size === 0) this.#servingListeners.delete(id)
    }
  }

  /** The open replicas that serve their shards as leaders. */
  *leading(): IterableIterator<LocalShard> {
    for (const { shard } of this.#hosted.values()) {
      if (shard.replicated?.isServing === true) yield shard
    }
  }

  /** Throws CORRUPTION if the replica that the disk has cannot be trusted (RH2). */
  async start(record: ShardRecord, settings: TableSettings): Promise<LocalShard> {
    const { id } = record
    const known = this.find(id)
    if (known !== undefined) return known
    const found = this.#found.get(id)
    if (found === undefined) return this.#startNew(record, settings)
    if (found.log instanceof ServiceError) throw found.log
    const { log } = found
    const store = must(found.store, 'the store of a log')
    this.#found.delete(id)
    try {
      return this.#admit(record, settings, await this.#open(record, settings, { store, log }))
    } catch (error) {
      if (isCorruption(error)) {
        await store.close()
        this.#found.set(id, { store: undefined, log: error })
      } else if (!this.#hosted.has(id)) {
        // Such as a full disk: what the disk has is as good as before, and must not count as missing.
        this.#found.set(id, found)
      }
      throw error
    }
  }

  /**
   * Closes a replica that cannot be trusted, so that it serves nothing and acknowledges nothing any more. What the
   * disk has stays until `startAnew`.
   */
  async setAside(id: ShardId, reason: ServiceError): Promise<void> {
    if (await this.#close(id, 'keep')) this.#found.set(id, { store: undefined, log: reason })
  }

  /** The open replicas of this node, with the tables that they belong to. */
  hosted(): readonly HostedReplica[] {
    return [...this.#hosted.values()].map(({ shard, settings }) => ({ shard, settings }))
  }

  /** Where the log of an open replica ends on disk. */
  endOf(id: ShardId): LogPosition | undefined {
    return this.#hosted.get(id)?.shard.replicated?.log.durableEnd
  }

  /** The open replica of a shard, with its table. */
  hostedOf(id: ShardId): HostedReplica | undefined {
    return this.#hosted.get(id)
  }

  /** Removes what the disk has of the replica, which cannot be trusted, and begins with an empty one. */
  async startAnew(record: ShardRecord, settings: TableSettings): Promise<void> {
    await this.remove(record.id)
    await this.#startNew(record, settings)
  }

  async #startNew(record: ShardRecord, settings: TableSettings): Promise<LocalShard> {
    const store = await this.#with.stores.open(record.id)
    const shard = await this.#open(record, settings, { store, log: newLog() })
    // The journal may have rows of a replica that was here before. They count no more, and no message comes
    // before the mark that says so.
    await shard.replicated?.log.restart(LOG_START)
    return this.#admit(record, settings, shard)
  }

  async #open(
    { id, range }: ShardRecord,
    settings: TableSettings,
    { store, log }: { readonly store: KvStore; readonly log: ReplicaLog },
  ): Promise<LocalShard> {
    const { led, offerSnapshot, onContradicted } = this.#with
    const name = { tableId: settings.tableId, id }
    const shard: LocalShard = await LocalShard.open({
      id,
      range,
      store,
      settings,
      ...this.#sharedParts(),
      replication: {
        ...this.#replicationParts(name, log),
        onLeadership: (isLeading) => {
          if (isLeading) {
            this.#counts.elections += 1
            led.add(shard.led)
          } else led.remove(id)
          for (const listener of this.#servingListeners.get(id) ?? []) listener()
        },
        onRefusedLeader: () => {
          this.#counts.refusedLeaders += 1
        },
        onContradicted: () => {
          this.#counts.damaged += 1
          onContradicted?.()
        },
        ...(offerSnapshot && { offerSnapshot: (to: NodeId) => offerSnapshot(id, to) }),
      },
    })
    return shard
  }

  /** From now on messages and configurations reach the replica. */
  #admit({ id }: ShardRecord, settings: TableSettings, shard: LocalShard): LocalShard {
    const { configurations } = this.#with
    const name = { tableId: settings.tableId, id }
    const configure = (configuration: ShardConfiguration): void => {
      for (const node of configuration.replicas) this.#beats.meet(node)
      shard.replicated?.log.configure(configuration)
    }
    const stopListening = configurations.onConfiguration(name, configure)
    this.#hosted.set(id, { shard, settings, stopListening })
    const leaving = configurations.leaving()
    if (leaving.size > 0) shard.replicated?.log.leaving(leaving)
    const configuration = configurations.configurationOf(name)
    if (configuration !== undefined) configure(configuration)
    return shard
  }

  /**
   * Puts a snapshot up to `position` in the place of a replica that follows. `swap` is called when the log on
   * disk begins after the snapshot, and store and indexes are closed. Answers false, and changes nothing, if the replica
   * needs no snapshot any more.
   */
  async replace(id: ShardId, position: LogPosition, swap: () => Promise<void>): Promise<boolean> {
    const hosted = this.#hosted.get(id)
    const log = hosted?.shard.replicated?.log
    if (hosted === undefined || log?.needsSnapshot(position) !== true) return false
    const { shard, settings } = hosted
    this.#replacing.add(id)
    try {
      await log.restart(position)
      await this.#close(id, 'keep')
      await swap()
      const { promised } = this.#with.journal.stateOf(id)
      const begin = { log: new LogIndex(position), promised, committed: position.sequence }
      this.#found.set(id, { store: await this.#with.stores.open(id), log: begin })
      await this.start({ id, range: shard.range }, settings)
      return true
    } finally {
      this.#replacing.delete(id)
    }
  }

  /** A message of another node. Resolves when that node may send more; unknown shards are ignored. */
  async receive(from: NodeId, message: Buffer): Promise<void> {
    const id = parseShardId(shardOfMessage(message))
    if (this.#replacing.has(id)) return // no row may follow the mark of the snapshot
    await this.#hosted.get(id)?.shard.replicated?.log.receive(from, message)
  }

  /** A beat of another node, or its answer to one. Throws INVALID_ARGUMENT for damaged bytes. */
  receiveBeat(from: NodeId, beat: Buffer): void {
    this.#beats.receive(from, beat)
  }

  /** How many pairs of a shard led here and a follower share the heartbeats of their nodes. */
  get restingCount(): number {
    return this.#beats.restingCount
  }

  #restingLog(id: string): RestingLog | undefined {
    const shardId = parseShardId(id)
    if (this.#replacing.has(shardId)) return undefined
    return this.#hosted.get(shardId)?.shard.replicated?.log.rests
  }

  /** Every replica that does not rest learns that time has passed. The host calls it itself. */
  tick(): void {
    this.#sleeps.look()
    for (const { shard } of this.#hosted.values()) shard.replicated?.log.tick()
  }

  *#logs(): Generator<ReplicatedLog> {
    for (const { shard } of this.#hosted.values()) {
      if (shard.replicated !== undefined) yield shard.replicated.log
    }
  }

  /** Closes the replica and keeps it on disk. */
  async stop(id: ShardId): Promise<void> {
    await this.#close(id, 'keep')
  }

  /** Removes the replica with everything that belongs to it. */
  async remove(id: ShardId): Promise<void> {
    const found = this.#found.get(id)
    this.#found.delete(id)
    await found?.store?.close()
    if (!(await this.#close(id, 'drop'))) this.#with.journal.unregister(id, 'drop')
    const { indexes, stores } = this.#with
    if (indexes !== undefined) await ShardIndexes.remove(indexes, id)
    await stores.destroy(id)
  }

  /** Closes all replicas, and sends nothing any more. A replica that fails to close does not keep the others open. */
  async close(): Promise<void> {
    await Promise.all([this.#stopTicks(), this.#stopBeats()])
    this.#beats.close()
    this.#stopHearing()
    for (const id of this.#hosted.keys()) {
      await this.#close(id, 'keep').catch((error: unknown) => {
        const fields = { shard: id, error: messageOf(error) }
        this.#with.log.error('replica failed to close', fields)
      })
    }
    for (const { store } of this.#found.values()) await store?.close()
    this.#found.clear()
  }

  /** False if there was no such replica. */
  async #close(id: ShardId, entries: 'keep' | 'drop'): Promise<boolean> {
    const hosted = this.#hosted.get(id)
    if (hosted === undefined) return false
    this.#hosted.delete(id)
    this.#with.led.remove(id)
    hosted.stopListening()
    await hosted.shard.close(entries)
    return true
  }

  #sharedParts() {
    const { journal, admit, hybridClock, clock, router, indexes } = this.#with
    // Hundreds of replicas are opened at a start, each with entries in the same segments.
    const reading = journal.gathered
    return { journal, reading, admit, hybridClock, clock, router, indexes }
  }

  #replicationParts(name: ShardName, start: ReplicaLog) {
    const { self, network, configurations, log, timing } = this.#with
    const control = this.#counts.counting(configurations.controlOf(name))
    const shared = { beats: this.#beats, sleeps: this.#sleeps }
    return { self, start, network, control, log, ...shared, ...(timing && { timing }) }
  }
}

/** The log of a replica that has nothing yet. */
function newLog(): ReplicaLog {
  return { log: new LogIndex(LOG_START), promised: 0, committed: 0 }
}

/** A store and how far it was written, or the damage that keeps it from being opened or read. */
async function openWhole(
  stores: KvStoreFactory,
  name: ShardId,
): Promise<{ readonly store: KvStore; readonly position: LogPosition } | ServiceError> {
  let store: KvStore | undefined
  try {
    store = await stores.open(name)
    return { store, position: storedPosition(store) }
  } catch (error) {
    await store?.close()
    if (isCorruption(error)) return error
    throw error
  }
}

function isCorruption(error: unknown): error is ServiceError {
  return isServiceError(error) && error.code === 'CORRUPTION'
}
