// Replicas on this disk whose tables were dropped, also while the node was away.
//
//   table dropped ──► tombstone ──each node: nothing of it here──► cleared ──all nodes──► (gone)
//
// Invariants:
//   DT1  The commit that removes a table's record puts its tombstone, which stays until every node of the cluster that
//        is not decommissioned has cleared it.
//   DT2  A replica is removed because a tombstone names its shard, or a person does, and never because the catalog does
//        not know the shard: the control plane may have gone back to a time before the table. A tombstone stays true
//        then, because no other table gets the id of a dropped one or of its shards.
//   DT3  A node clears a tombstone after its disk has nothing that the tombstone names.
//   DT4  Nothing is removed while the control plane is known to have gone back.

import type { Clock } from '../../../lib/clock.ts'
import { messageOf, ServiceError } from '../../../lib/errors.ts'
import type { Log } from '../../../lib/log.ts'
import type { ClusterMap } from '../../cluster/cluster-map.ts'
import { followEntries, type EntryChange } from '../../cluster/follow-entries.ts'
import { CONFIGURATION_PREFIX } from '../../controller/core/records/cluster-codec.ts'
import type { Coordination } from '../../coordination/coordination.ts'
import type { NodeId } from '../../replication/core/configuration.ts'
import type { ShardId } from '../../shard/shard-id.ts'
import { SHARD_PREFIX } from '../../catalog/records/table-record.ts'
import {
  CLEARED_PREFIX,
  decodeCleared,
  decodeTombstone,
  putCleared,
  TOMBSTONES_PREFIX,
} from '../../catalog/records/table-tombstone.ts'
import type { ClusterTables } from './cluster-tables.ts'
import type { ReplicaHost } from '../replica-host.ts'

const ROUND_MS = 1000
/** The log names at most 16 of them. */
const NAMED_MAX = 16

/** The parts of a node by which it knows what was dropped. */
export interface DroppedReplicasOptions {
  readonly self: NodeId
  readonly coordination: Coordination
  readonly map: Pick<ClusterMap, 'health' | 'nodes' | 'controller' | 'pathOf'>
  readonly host: Pick<ReplicaHost, 'has' | 'unopened'>
  readonly tables: Pick<ClusterTables, 'isKnown' | 'collect'>
  readonly clock: Clock
  readonly log: Log
}

interface Tombstone {
  readonly modRevision: number
  readonly shards: readonly ShardId[]
}

/** Removes replicas of dropped tables from `start` to `close`. */
export class DroppedReplicas {
  readonly #with: DroppedReplicasOptions
  readonly #closing = new AbortController()
  readonly #tombstones = new Map<string, Tombstone>()
  readonly #cleared = new Map<NodeId, number>()
  #isListed = false
  #following: Promise<void> = Promise.resolve()
  #stopRounds: () => Promise<void> = async () => undefined
  /** Replicas whose removal has failed: the host does not count them, and a part of one may be left on disk. */
  readonly #halfGone = new Set<ShardId>()
  #failure: string | undefined

  constructor(options: DroppedReplicasOptions) {
    this.#with = options
  }

  /** Called once, after the node has joined. `close` has to follow. */
  start(): void {
    const { coordination, clock } = this.#with
    const sink = {
      changed: (change: EntryChange) => this.#take(change),
      listed: () => {
        if (!this.#isListed) this.#report()
        this.#isListed = true
      },
      failed: () => undefined, // it is asked again; the map says that the store does not answer
    }
    const prefixes = [TOMBSTONES_PREFIX]
    this.#following = followEntries({ coordination, prefixes, clock, sink }, this.#closing.signal)
    this.#stopRounds = clock.every(ROUND_MS, () => this.#round())
  }

  /** The tombstones that are there, as far as this node knows. */
  get tombstones(): number {
    return this.#tombstones.size
  }

  /** The replicas on this disk that neither a table nor a tombstone knows. */
  get leftovers(): readonly ShardId[] {
    const { host, tables, map } = this.#with
    const dropped = new Set([...this.#tombstones.values()].flatMap(({ shards }) => shards))
    return host.unopened.filter(
      (id) => !tables.isKnown(id) && map.pathOf(id) === undefined && !dropped.has(id),
    )
  }

  /**
   * Removes replicas that a person names (DT2), and answers which were there. CONFLICT, and nothing has changed, if the
   * control plane knows one of them now. UNAVAILABLE while it does not answer, has gone back, or was not read yet.
   */
  async collect(shards: readonly ShardId[]): Promise<readonly ShardId[]> {
    const { map, host } = this.#with
    if (!this.#isListed || map.health.kind !== 'current') {
      const why = 'the control plane has gone back, does not answer, or was not read yet'
      throw new ServiceError('UNAVAILABLE', `nothing is removed now: ${why}`)
    }
    const here = shards.filter((id) => host.has(id) || this.#halfGone.has(id))
    await this.#assertUnknown(new Set(here))
    for (const id of here) await this.#remove(id)
    return here
  }

  async close(): Promise<void> {
    this.#closing.abort()
    await this.#stopRounds()
    await this.#following
  }

  #take({ key, entry }: EntryChange): void {
    try {
      if (key.startsWith(CLEARED_PREFIX)) {
        const node = key.slice(CLEARED_PREFIX.length)
        if (entry === undefined) this.#cleared.delete(node)
        else this.#cleared.set(node, decodeCleared(entry.value))
      } else if (entry === undefined) this.#tombstones.delete(key)
      else {
        const shards = decodeTombstone(entry.value)
        this.#tombstones.set(key, { modRevision: entry.modRevision, shards })
      }
    } catch (error) {
      this.#with.log.error('a tombstone cannot be read', { key, error: messageOf(error) })
    }
  }

  /** What DT2 keeps is named once, because only a person can decide about it. */
  #report(): void {
    const { leftovers } = this
    if (leftovers.length === 0) return
    this.#with.log.warn('replicas on this disk belong to no table that the cluster knows', {
      count: leftovers.length,
      some: leftovers.slice(0, NAMED_MAX),
    })
  }

  async #round(): Promise<void> {
    const { map } = this.#with
    if (!this.#isListed || this.#tombstones.size === 0) return
    if (map.health.kind === 'frozen') return // DT4
    try {
      await this.#clear()
      if (map.controller() === this.#with.self) await this.#bury()
      this.#failure = undefined
    } catch (error) {
      this.#complain(messageOf(error))
    }
  }

  /** DT2, DT3. */
  async #clear(): Promise<void> {
    const { self, host, coordination } = this.#with
    const all = [...this.#tombstones.values()]
    const newest = Math.max(...all.map(({ modRevision }) => modRevision))
    if ((this.#cleared.get(self) ?? 0) >= newest) return
    const isHere = (id: ShardId): boolean => host.has(id) || this.#halfGone.has(id)
    for (const id of all.flatMap(({ shards }) => shards).filter(isHere)) {
      await this.#remove(id)
    }
    await coordination.commit({ when: [], changes: [putCleared(self, newest)] })
    this.#cleared.set(self, newest)
  }

  async #remove(id: ShardId): Promise<void> {
    this.#halfGone.add(id)
    await this.#with.tables.collect(id)
    this.#halfGone.delete(id)
  }

  /** Asks the coordination store itself: this node may not have heard of the newest tables. */
  async #assertUnknown(shards: ReadonlySet<string>): Promise<void> {
    for (const prefix of [SHARD_PREFIX, CONFIGURATION_PREFIX]) {
      const { entries } = await this.#with.coordination.list(prefix)
      const known = entries.find(({ key }) => shards.has(key.slice(key.lastIndexOf('/') + 1)))
      if (known === undefined) continue
      throw new ServiceError('CONFLICT', `${known.key} is no leftover: the cluster knows the shard`)
    }
  }

  /** DT1. */
  async #bury(): Promise<void> {
    const { map, coordination } = this.#with
    const waited = map
      .nodes()
      .filter(({ state }) => state !== 'decommissioned' && state !== 'forgotten')
    const upTo = Math.min(...waited.map(({ id }) => this.#cleared.get(id) ?? 0))
    for (const [key, { modRevision }] of this.#tombstones) {
      if (modRevision > upTo) continue
      await coordination.commit({
        when: [{ key, modRevision }],
        changes: [{ type: 'delete', key }],
      })
      this.#tombstones.delete(key)
    }
  }

  #complain(reason: string): void {
    if (this.#closing.signal.aborted || reason === this.#failure) return
    this.#failure = reason
    this.#with.log.warn('what dropped tables left here cannot be removed yet', { error: reason })
  }
}
