// Replicas that are built from another node's: those that are too far behind for their leader's log, and those
// whose own disk cannot be trusted.
//
//   behind:  leader ──offer──► follower ─► receive ─► `restart` mark ─► close ─► swap ─► open
//   damaged: closed ─► led elsewhere, not in sync any more ─► removed ─► opened empty ─► behind
//
// Invariants:
//   RCO1  A damaged replica is removed only when another node leads, and the cluster does not count it as in
//         sync: until then it may be the last copy.
//   RCO2  A shard has at most one copy under way.
//   RCO3  An open replica that is damaged is closed only when another one is in sync: what it still has may be
//         all that there is.

import type { Clock } from '../../lib/clock.ts'
import { messageOf, type ServiceError } from '../../lib/errors.ts'
import type { Log } from '../../lib/log.ts'
import type { Random } from '../../lib/random.ts'
import type { PeerHandler, PeerHandlers, PeerLink } from '../peer/peer.ts'
import type { NodeId } from '../replication/core/configuration.ts'
import type { Arrivals } from '../replication/snapshot/arrivals.ts'
import { receiveSnapshot } from '../replication/snapshot/receive-snapshot.ts'
import { RECEIVE_LIMITS } from '../replication/snapshot/snapshot-limits.ts'
import type { SnapshotSource } from '../replication/snapshot/snapshot-source.ts'
import type { TableSettings } from '../shard/command/table-settings.ts'
import { parseShardId, type ShardId } from '../shard/shard-id.ts'
import type { ShardRecord } from '../catalog/records/shard-record.ts'
import type { ReplicaCounts } from './replica-counts.ts'
import type { ShardConfigurations, ShardName } from '../cluster/shard-configurations.ts'
import type { ReplicaHost } from './replica-host.ts'

/** The number is part of the peer protocol. */
const SNAPSHOT_OFFER = 20
const SHARD_ID_BYTES = 8
/** After a failed copy; the leader offers again with its next heartbeats. */
const PAUSE_MS = 1000

/** What copies are made with. */
export interface ReplicaCopiesOptions {
  readonly self: NodeId
  readonly host: ReplicaHost
  readonly configurations: ShardConfigurations
  readonly arrivals: Arrivals
  readonly source: SnapshotSource
  readonly linkTo: (node: NodeId) => PeerLink | undefined
  readonly clock: Clock
  readonly random: Random
  readonly log: Log
  readonly counts?: ReplicaCounts
  /** Asks the controller to let another replica lead. */
  readonly handOver?: (shard: ShardName, to: NodeId) => Promise<void>
}

interface DamagedReplica {
  readonly record: ShardRecord
  readonly settings: TableSettings
}

/** Tells the node of a follower that lacks entries, which the journal here has no longer, to copy the replica. */
export function offerCopy(link: PeerLink | undefined, id: ShardId): void {
  link?.send({ operation: SNAPSHOT_OFFER, body: Buffer.from(id, 'hex') })
}

/** Builds replicas from those of other nodes, from its construction to `close`. */
export class ReplicaCopies {
  readonly #with: ReplicaCopiesOptions
  readonly #closing = new AbortController()
  readonly #copying = new Map<ShardId, Promise<void>>()

  constructor(options: ReplicaCopiesOptions) {
    this.#with = options
  }

  handlers(): PeerHandlers {
    const handler: PeerHandler = {
      kind: 'message',
      handle: ({ from, body }) => {
        if (body.length === SHARD_ID_BYTES) this.#begin(parseShardId(body.toString('hex')), from)
        return undefined
      },
    }
    return new Map([[SNAPSHOT_OFFER, handler]])
  }

  /** The replica on this disk cannot be trusted: it is built anew as soon as that is safe (RCO1). */
  rebuild(record: ShardRecord, settings: TableSettings): void {
    this.#once(record.id, () => this.#rebuild(record, settings))
  }

  /** An open replica cannot be trusted any more. It is closed and built anew as soon as that is safe (RCO1, RCO3). */
  replaceDamaged(id: ShardId, reason: ServiceError): void {
    const { host, log, counts } = this.#with
    const hosted = host.hostedOf(id)
    if (hosted === undefined || this.#copying.has(id)) return
    log.error('the replica on this disk is damaged', { shard: id, error: reason.message })
    if (counts !== undefined) counts.damaged += 1
    const record = { id, range: hosted.shard.range }
    this.#once(id, () => this.#replaceDamaged({ record, settings: hosted.settings }, reason))
  }

  async close(): Promise<void> {
    this.#closing.abort()
    await Promise.all(this.#copying.values())
  }

  #begin(id: ShardId, from: NodeId): void {
    const shard = this.#with.host.find(id)
    if (shard === undefined || shard.replicated?.log.isLeading === true) return
    this.#once(id, () => this.#copy(id, from))
  }

  /** RCO2. */
  #once(id: ShardId, work: () => Promise<void>): void {
    if (this.#copying.has(id) || this.#closing.signal.aborted) return
    const { log, clock } = this.#with
    const done = work()
      .catch(async (error: unknown) => {
        if (this.#closing.signal.aborted) return
        log.warn('a replica was not copied', { shard: id, error: messageOf(error) })
        await clock.sleep(PAUSE_MS, this.#closing.signal).catch(() => undefined)
      })
      .finally(() => this.#copying.delete(id))
    this.#copying.set(id, done)
  }

  async #copy(id: ShardId, from: NodeId): Promise<void> {
    const { host, arrivals, source, linkTo, clock, random, log, counts } = this.#with
    const link = linkTo(from)
    const atLeast = host.find(id)?.replicated?.log.committed
    if (link === undefined || atLeast === undefined) return
    const wanted = { logId: id, atLeast }
    log.info('a replica is copied', { shard: id, from })
    const onBytes = (bytes: number): void => {
      if (counts !== undefined) counts.receivedBytes += bytes
    }
    const parts = { link, wanted, arrivals, clock, random, log, onBytes }
    const options = { ...parts, limits: RECEIVE_LIMITS }
    const { position } = await receiveSnapshot(options, this.#closing.signal)
    const isReplaced = await host.replace(id, position, async () => {
      await source.closeAllOf(id)
      await arrivals.swap(id)
    })
    if (!isReplaced) await arrivals.discard(id) // it has caught up by the log meanwhile, or is gone
  }

  async #replaceDamaged(replica: DamagedReplica, reason: ServiceError): Promise<void> {
    const { record, settings } = replica
    const { host, source, clock } = this.#with
    const name = { tableId: settings.tableId, id: record.id }
    while (this.#otherInSync(name) === undefined) await clock.sleep(PAUSE_MS, this.#closing.signal)
    await source.closeAllOf(record.id)
    await host.setAside(record.id, reason)
    await this.#rebuild(record, settings)
  }

  async #rebuild(record: ShardRecord, settings: TableSettings): Promise<void> {
    const { id } = record
    const { host, clock, log } = this.#with
    const name = { tableId: settings.tableId, id }
    while (!this.#isSafeToRemove(name)) {
      await this.#handOver(name)
      await clock.sleep(PAUSE_MS, this.#closing.signal)
    }
    log.warn('a damaged replica is removed and built anew', { shard: id })
    await host.startAnew(record, settings)
  }

  /** A replica that is closed cannot lead, and the controller only sees that its node is there. */
  async #handOver(name: ShardName): Promise<void> {
    const { self, configurations, handOver, log } = this.#with
    const other = this.#otherInSync(name)
    if (configurations.configurationOf(name)?.leader?.node !== self || other === undefined) return
    try {
      await handOver?.(name, other)
    } catch (error) {
      log.warn('a damaged replica still leads', { shard: name.id, error: messageOf(error) })
    }
  }

  #otherInSync(name: ShardName): NodeId | undefined {
    const { self, configurations } = this.#with
    const { inSync = [] } = configurations.configurationOf(name) ?? {}
    return inSync.find(({ node }) => node !== self)?.node
  }

  #isSafeToRemove(name: ShardName): boolean {
    const { self, configurations } = this.#with
    const configuration = configurations.configurationOf(name)
    if (configuration?.leader === undefined || configuration.leader.node === self) return false
    const { inSync, eligible } = configuration
    return ![...inSync, ...eligible].some(({ node }) => node === self)
  }
}
