// The cluster as one node sees it: who is there, and who holds and leads which shard.
//
// Invariants:
//   CMA1  A shard's configuration never becomes an older one.
//   CMA2  A change of an in-sync set compares the revision that it replaces.
//   CMA3  Nothing is changed after the store went back: its revisions mean something else then.

import type { Clock } from '../../lib/clock.ts'
import { ServiceError, isServiceError, messageOf } from '../../lib/errors.ts'
import type { Log } from '../../lib/log.ts'
import {
  CLUSTER_PREFIX,
  CONTROLLER_KEY,
  IDENTITY_KEY,
  configurationKey,
  decodeConfiguration,
  type ShardPath,
} from '../controller/core/records/cluster-codec.ts'
import type { MoveRecord } from '../controller/core/records/move-record.ts'
import type { NodeRegistration } from '../controller/core/records/node-record.ts'
import type { Coordination, CoordinationEntry } from '../coordination/coordination.ts'
import type {
  InSyncChange,
  NodeId,
  ReplicaId,
  ShardConfiguration,
} from '../replication/core/configuration.ts'
import { followEntries, type EntryChange } from './follow-entries.ts'
import { plannedInSync } from './in-sync-change.ts'
import { observationOf } from './observed-entry.ts'
import { KnownCluster, type ClusterChange, type KnownNode } from './known-cluster.ts'

/** How often the store is asked whether it is there: a quiet watch does not tell. */
const PROBE_MS = 3000

/** Whether the map is up to date. Times are of the wall clock, for people. */
export type MapHealth =
  | { readonly kind: 'current' }
  /** The store has not answered since then. The map shows what was known. */
  | { readonly kind: 'stale'; readonly sinceMs: number; readonly reason: string }
  /** CMA3: until the process starts again. */
  | { readonly kind: 'frozen'; readonly reason: string }

/** Who leads a shard, and where. */
export interface KnownLeader {
  readonly replica: ReplicaId
  readonly epoch: number
  /** Undefined if the node never registered while this one watched. */
  readonly addresses: NodeRegistration['addresses'] | undefined
}

/** What a map is made over. */
export interface ClusterMapOptions {
  readonly coordination: Coordination
  readonly clock: Clock
  readonly log: Log
}

/**
 * Contract:
 * - `open` resolves when everything was read once. From then on all answers but `confirm` and
 *   `changeInSync` are synchronous, of what is known. They stay when the store is away.
 * - Listeners hear of each change after it is known, in order. A listener must not throw. They hear
 *   nothing of what was known when they were added.
 * - `confirm` answers the configuration that the store has now, linearizably, or undefined if it has none.
 * - `changeInSync` asks for a leader's change and answers the configuration that the store has after that.
 *   The caller finds the change in it or not. The same change may be asked for again: it happens once.
 *   An answer with the revision that the change replaces refuses it for good, if no other call for it is under
 *   way: calls before it had the registration of the added node as a condition, which has changed since.
 *   UNAVAILABLE means that the outcome is unknown, or that the map is frozen.
 */
export class ClusterMap implements AsyncDisposable {
  readonly #options: ClusterMapOptions
  readonly #known = new KnownCluster()
  /** The election of the controller, by key. */
  readonly #candidates = new Map<string, CoordinationEntry>()
  readonly #closing = new AbortController()
  readonly #listed = Promise.withResolvers<void>()
  readonly #listeners = new Set<(change: ClusterChange) => void>()
  readonly #shardListeners = new Map<ShardPath, Set<ConfigurationListener>>()
  #following: Promise<void> = Promise.resolve()
  #stopProbes: () => Promise<void> = async () => undefined
  #seenRevision = 0
  #health: MapHealth = { kind: 'current' }

  private constructor(options: ClusterMapOptions) {
    this.#options = options
  }

  /** Rejects with the reason of `signal` if the store does not answer before it aborts. */
  static async open(options: ClusterMapOptions, signal: AbortSignal): Promise<ClusterMap> {
    const map = new ClusterMap(options)
    map.#start()
    const onAbort = (): void => map.#listed.reject(signal.reason)
    signal.addEventListener('abort', onAbort, { once: true })
    try {
      signal.throwIfAborted()
      await map.#listed.promise
      return map
    } catch (error) {
      await map.close()
      throw error
    } finally {
      signal.removeEventListener('abort', onAbort)
    }
  }

  get health(): MapHealth {
    return this.#health
  }

  /** The greatest revision that a listing or a watch has brought. */
  get seenRevision(): number {
    return this.#seenRevision
  }

  nodes(): readonly KnownNode[] {
    return [...this.#known.nodes.values()]
  }

  node(id: NodeId): KnownNode | undefined {
    return this.#known.nodes.get(id)
  }

  addressOf(id: NodeId): NodeRegistration['addresses'] | undefined {
    return this.#known.nodes.get(id)?.addresses
  }

  shards(): ReadonlyMap<ShardPath, ShardConfiguration> {
    return this.#known.configurations
  }

  /** The node that is elected as controller; undefined while none is. */
  controller(): NodeId | undefined {
    let oldest: CoordinationEntry | undefined
    for (const entry of this.#candidates.values()) {
      if (oldest === undefined || entry.createRevision < oldest.createRevision) oldest = entry
    }
    return oldest?.value.toString()
  }

  /** The name of the shard with this id, if it has a configuration. */
  pathOf(shardId: string): ShardPath | undefined {
    return this.#known.pathOf(shardId)
  }

  configurationOf(path: ShardPath): ShardConfiguration | undefined {
    return this.#known.configurations.get(path)
  }

  moveOf(path: ShardPath): MoveRecord | undefined {
    return this.#known.moves.get(path)
  }

  leaderOf(path: ShardPath): KnownLeader | undefined {
    const configuration = this.configurationOf(path)
    if (configuration?.leader === undefined) return undefined
    const { leader, epoch } = configuration
    return { replica: leader, epoch, addresses: this.addressOf(leader.node) }
  }

  /** Answers how to stop listening. */
  onConfiguration(path: ShardPath, listener: ConfigurationListener): () => void {
    const listeners = this.#shardListeners.get(path) ?? new Set()
    this.#shardListeners.set(path, listeners)
    listeners.add(listener)
    return () => {
      listeners.delete(listener)
      if (listeners.size === 0) this.#shardListeners.delete(path)
    }
  }

  /** Hears of every change of a node, configuration or move. Answers how to stop listening. */
  onChange(listener: (change: ClusterChange) => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  async confirm(path: ShardPath): Promise<ShardConfiguration | undefined> {
    const entry = await this.#ask(() => this.#options.coordination.get(configurationKey(path)))
    if (entry === undefined) return undefined
    return this.#takeAhead(path, entry)
  }

  async changeInSync(
    path: ShardPath,
    change: InSyncChange,
  ): Promise<ShardConfiguration | undefined> {
    let before = this.configurationOf(path)
    if (before?.revision !== change.revision) before = await this.confirm(path)
    if (before === undefined || before.operation === change.operation) return before
    const planned = plannedInSync({ path, before, change, nodes: this.#known.nodes })
    if (planned === undefined) return before
    this.#assertNotFrozen()
    const outcome = await this.#ask(() => this.#options.coordination.commit(planned.commit))
    if (outcome.kind === 'committed') {
      const { revision } = outcome
      this.#configure(path, { ...planned.configuration, revision })
      return this.configurationOf(path)
    }
    const found = outcome.entries.find(({ key }) => key === configurationKey(path))
    return found && this.#takeAhead(path, found)
  }

  async close(): Promise<void> {
    this.#closing.abort(new ServiceError('UNAVAILABLE', 'the cluster map is closed'))
    await this.#stopProbes()
    await this.#following
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close()
  }

  #start(): void {
    const { coordination, clock } = this.#options
    this.#listed.promise.catch(() => undefined) // `open` hears of it
    const sink = {
      changed: (change: EntryChange) => this.#take(change),
      listed: (revision: number) => this.#onListed(revision),
      failed: (error: unknown) => this.#onFailed(error),
    }
    const following = { coordination, prefixes: [CLUSTER_PREFIX], clock, sink }
    this.#following = followEntries(following, this.#closing.signal)
    this.#stopProbes = clock.every(PROBE_MS, () => this.#probe())
  }

  async #probe(): Promise<void> {
    await this.#ask(() => this.#options.coordination.get(IDENTITY_KEY)).catch(() => undefined)
  }

  /** A call of the store, whose success or failure says how the store is. */
  async #ask<Answer>(call: () => Promise<Answer>): Promise<Answer> {
    try {
      const answer = await call()
      this.#onAnswer()
      return answer
    } catch (error) {
      this.#onFailed(error)
      throw error
    }
  }

  #onAnswer(): void {
    if (this.#health.kind !== 'stale') return
    const { sinceMs } = this.#health
    this.#health = { kind: 'current' }
    this.#options.log.info('the coordination store answers again', { sinceMs })
  }

  #onFailed(error: unknown): void {
    if (this.#closing.signal.aborted || this.#health.kind === 'frozen') return
    const reason = messageOf(error)
    if (isServiceError(error) && error.code === 'CORRUPTION') return this.#freeze(reason)
    if (this.#health.kind === 'stale') return
    this.#health = { kind: 'stale', sinceMs: this.#options.clock.nowMs(), reason }
    this.#options.log.warn('the coordination store does not answer', { reason })
  }

  #freeze(reason: string): void {
    this.#health = { kind: 'frozen', reason }
    this.#options.log.error('the cluster is frozen: the coordination store lost commits', {
      reason,
    })
  }

  #assertNotFrozen(): void {
    if (this.#health.kind !== 'frozen') return
    throw new ServiceError('UNAVAILABLE', `the cluster is frozen: ${this.#health.reason}`)
  }

  #onListed(revision: number): void {
    if (revision < this.#seenRevision) {
      this.#freeze(`the store went back from revision ${this.#seenRevision} to ${revision}`)
    }
    this.#seenRevision = Math.max(this.#seenRevision, revision)
    this.#onAnswer()
    this.#listed.resolve()
  }

  /** Takes what a listing or a watch brings. */
  #take(change: EntryChange): void {
    this.#onAnswer()
    this.#seenRevision = Math.max(this.#seenRevision, change.revision)
    if (change.key.startsWith(CONTROLLER_KEY)) return this.#takeCandidate(change)
    try {
      const observed = observationOf(change)
      if (observed !== undefined) this.#tell(this.#known.take(observed))
    } catch (error) {
      const { key, revision } = change
      const reason = messageOf(error)
      this.#options.log.error('an entry of the cluster is damaged', { key, revision, reason })
    }
  }

  #takeCandidate({ key, entry }: EntryChange): void {
    if (entry === undefined) this.#candidates.delete(key)
    else this.#candidates.set(key, entry)
  }

  /** Takes an entry that was read beside the watch. */
  #takeAhead(path: ShardPath, { value, modRevision }: CoordinationEntry): ShardConfiguration {
    const configuration = decodeConfiguration(value, modRevision)
    this.#configure(path, configuration)
    return configuration
  }

  /** An unknown shard's configuration that the watch has passed was deleted meanwhile. */
  #configure(path: ShardPath, configuration: ShardConfiguration): void {
    const isGone = !this.#known.configurations.has(path)
    if (isGone && configuration.revision <= this.#seenRevision) return
    this.#tell(this.#known.configure(path, configuration))
  }

  #tell(change: ClusterChange | undefined): void {
    if (change === undefined) return
    for (const listener of this.#listeners) listener(change)
    if (change.kind !== 'configuration') return
    const configuration = this.configurationOf(change.path)
    for (const listener of this.#shardListeners.get(change.path) ?? []) listener(configuration)
  }
}

/** Undefined when the shard's configuration was deleted with the shard. */
export type ConfigurationListener = (configuration: ShardConfiguration | undefined) => void
