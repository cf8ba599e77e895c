// Looks for damage in the replicas of this node, in the background and at a bounded rate.
//
//   each replica here:  table files against their checksums
//   each led here:      content against that of every follower in sync, at one log entry
//
// Invariants:
//   RA1  One replica is looked at at a time. A round begins an interval after the one before it began.
//   RA2  A replica that is found damaged does nothing any more, and is built anew from another one. The content
//        of the leader counts, unless two followers agree that it differs, or its own files are damaged.

import type { Clock } from '../../lib/clock.ts'
import { messageOf, ServiceError } from '../../lib/errors.ts'
import type { Log } from '../../lib/log.ts'
import type { PeerHandler, PeerHandlers, PeerLink } from '../peer/peer.ts'
import type { NodeId } from '../replication/core/configuration.ts'
import type { AskHash, ComparedReplicas } from '../replication/snapshot/content-hashes.ts'
import { Pace } from '../replication/snapshot/pace.ts'
import { askContentHash } from '../replication/snapshot/receive-snapshot.ts'
import type { SnapshotSource } from '../replication/snapshot/snapshot-source.ts'
import { parseShardId, type ShardId } from '../shard/shard-id.ts'
import { findDamagedTable } from '../storage/level-table-check.ts'
import type { ReplicaCounts } from './replica-counts.ts'
import type { ShardConfigurations } from '../cluster/shard-configurations.ts'
import type { HostedReplica, ReplicaHost } from './replica-host.ts'

/** The number is part of the peer protocol. */
const DIFFERENT = 99
const SHARD_ID_BYTES = 8
/** So that the first round does not compete with the start. */
const FIRST_MS = 10_000
const PAUSE_MS = 1000
/** A comparison of a shard that is being written shows nothing; then it is tried again. */
const TRIES_MAX = 20
/** The largest store is hashed in less. */
const ANSWER_MS = 60 * 60_000
const BYTES_PER_SECOND = 32 * 1024 * 1024
/** A table file that was written so recently may still be growing. */
const SETTLED_MS = 10_000

/** What an audit works with. */
export interface ReplicaAuditOptions {
  readonly self: NodeId
  readonly host: Pick<ReplicaHost, 'hosted' | 'hostedOf' | 'find'>
  readonly configurations: ShardConfigurations
  readonly hashes: SnapshotSource['hashes']
  readonly linkTo: (node: NodeId) => PeerLink | undefined
  /** Where the files of a store are. */
  readonly directoryOf: (id: ShardId) => string
  readonly onDamaged: (id: ShardId, reason: ServiceError) => void
  readonly counts: ReplicaCounts
  /** From the beginning of a round to the next; 0: no rounds. */
  readonly intervalMs: number
  readonly clock: Clock
  readonly log: Log
  /** Default: FIRST_MS and SETTLED_MS. */
  readonly firstMs?: number
  readonly settledMs?: number
}

/** Runs from its construction to `close`. */
export class ReplicaAudit {
  readonly #with: ReplicaAuditOptions
  readonly #closing = new AbortController()
  readonly #pace: Pace
  readonly #running: Promise<void>

  constructor(options: ReplicaAuditOptions) {
    this.#with = options
    this.#pace = new Pace(options.clock, BYTES_PER_SECOND)
    this.#running = options.intervalMs === 0 ? Promise.resolve() : this.#run()
  }

  /** What a leader says of a replica here. */
  handlers(): PeerHandlers {
    const handler: PeerHandler = {
      kind: 'message',
      handle: ({ from, body }) => {
        if (body.length === SHARD_ID_BYTES) this.#differs(parseShardId(body.toString('hex')), from)
        return undefined
      },
    }
    return new Map([[DIFFERENT, handler]])
  }

  async close(): Promise<void> {
    this.#closing.abort()
    await this.#running
  }

  async #run(): Promise<void> {
    const { clock, intervalMs, firstMs = FIRST_MS } = this.#with
    const { signal } = this.#closing
    try {
      await clock.sleep(Math.min(firstMs, intervalMs), signal)
      while (!signal.aborted) {
        const nextMs = clock.monotonicMs() + intervalMs
        for (const replica of this.#with.host.hosted()) await this.#look(replica)
        await clock.sleep(Math.max(PAUSE_MS, nextMs - clock.monotonicMs()), signal)
      }
    } catch (error) {
      if (!signal.aborted) throw error
    }
  }

  async #look(replica: HostedReplica): Promise<void> {
    const { id } = replica.shard
    const { host, log } = this.#with
    const { signal } = this.#closing
    // It may have been closed, or have become another one, since the round began.
    if (signal.aborted || host.find(id) !== replica.shard) return
    try {
      const isWhole = await this.#checkTables(id)
      if (isWhole && replica.shard.replicated?.isServing === true) await this.#compare(replica)
    } catch (error) {
      signal.throwIfAborted()
      log.warn('a replica was not checked', { shard: id, error: messageOf(error) })
    }
  }

  async #checkTables(id: ShardId): Promise<boolean> {
    const { directoryOf, clock, settledMs = SETTLED_MS, onDamaged } = this.#with
    const { signal } = this.#closing
    const damage = await findDamagedTable(directoryOf(id), {
      pace: (bytes) => this.#pace.take(bytes, signal),
      nowMs: () => clock.nowMs(),
      settledMs,
    })
    if (damage !== undefined) onDamaged(id, damage)
    return damage === undefined
  }

  async #compare({ shard, settings }: HostedReplica): Promise<void> {
    const { configurations, clock } = this.#with
    const { signal } = this.#closing
    const name = { tableId: settings.tableId, id: shard.id }
    let left = this.#followersOf(name)
    for (let tries = 1; left.length > 0 && tries <= TRIES_MAX; tries++) {
      if (tries > 1) await clock.sleep(PAUSE_MS, signal)
      if (shard.replicated?.isServing !== true) return
      const compared = await this.#with.hashes.compare(
        shard.id,
        left.map((node) => this.#asking(node)),
        signal,
      )
      this.#judge(shard.id, left, compared)
      const members = new Set(configurations.configurationOf(name)?.inSync.map(({ node }) => node))
      left = left.filter((node, i) => compared.others[i]?.kind === 'unknown' && members.has(node))
    }
    this.#with.counts.comparisons.unknown += left.length
  }

  #followersOf(name: Parameters<ShardConfigurations['configurationOf']>[0]): readonly NodeId[] {
    const { self, configurations } = this.#with
    const { inSync = [] } = configurations.configurationOf(name) ?? {}
    return inSync.map(({ node }) => node).filter((node) => node !== self)
  }

  #asking(node: NodeId): AskHash {
    return async (asked) => {
      const link = this.#with.linkTo(node)
      if (link === undefined) throw new ServiceError('UNAVAILABLE', 'its address is not known')
      return askContentHash(link, asked, { timeoutMs: ANSWER_MS, signal: this.#closing.signal })
    }
  }

  /** RA2. */
  #judge(id: ShardId, nodes: readonly NodeId[], { position, others }: ComparedReplicas): void {
    const { counts, log, linkTo, onDamaged } = this.#with
    const differing: NodeId[] = []
    const hashes = new Set<string>()
    for (const [i, node] of nodes.entries()) {
      const other = others[i]
      if (other === undefined || other.kind === 'unknown') continue
      counts.comparisons[other.kind] += 1
      if (other.kind === 'equal') continue
      differing.push(node)
      hashes.add(other.hash.toString('hex'))
    }
    if (differing.length === 0) return
    const at = { shard: id, sequence: position.sequence }
    log.error('replicas of a shard differ', { ...at, from: differing })
    if (differing.length > 1 && hashes.size === 1) {
      return onDamaged(id, differs(`other replicas agree, and differ at log entry ${at.sequence}`))
    }
    const body = Buffer.from(id, 'hex')
    for (const node of differing) linkTo(node)?.send({ operation: DIFFERENT, body })
  }

  #differs(id: ShardId, from: NodeId): void {
    const { host, configurations, onDamaged } = this.#with
    const hosted = host.hostedOf(id)
    if (hosted === undefined) return
    const name = { tableId: hosted.settings.tableId, id }
    // Only its leader has compared it.
    if (configurations.configurationOf(name)?.leader?.node !== from) return
    onDamaged(id, differs('its leader has another content at the same log entry'))
  }
}

function differs(how: string): ServiceError {
  const remedy = 'the replica is built anew from another one'
  return new ServiceError('CORRUPTION', `the content of the replica is damaged: ${how}; ${remedy}`)
}
