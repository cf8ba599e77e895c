// The replicas of a node of a cluster, built in order: what has arrived, the host, what is sent to others, what copies
// replicas and looks for damage in them, and the ways to the leaders of all shards.

import { randomBytes } from 'node:crypto'
import path from 'node:path'
import type { Clock } from '../../lib/clock.ts'
import type { ServiceError } from '../../lib/errors.ts'
import type { Lifecycle } from '../../lib/lifecycle.ts'
import type { Log } from '../../lib/log.ts'
import type { Random } from '../../lib/random.ts'
import type { LedShards } from '../catalog/tables/led-shards.ts'
import type { ShardRecord } from '../catalog/records/shard-record.ts'
import type { HybridClock } from '../clock/hybrid-clock.ts'
import type { ClusterMap } from '../cluster/cluster-map.ts'
import type { LeaderPlaces } from '../cluster/leader-places.ts'
import { shardConfigurations } from '../cluster/shard-configurations.ts'
import type { ShardPath } from '../controller/core/records/cluster-codec.ts'
import { logEndHandlers } from '../controller/shell/replica-ends.ts'
import type { Journal } from '../journal/journal.ts'
import type { PeerHandlers } from '../peer/peer.ts'
import type { NodeId, ReplicaId } from '../replication/core/configuration.ts'
import { restartedLogs } from '../replication/log/restarted-logs.ts'
import { Arrivals } from '../replication/snapshot/arrivals.ts'
import { snapshotHandlers } from '../replication/snapshot/snapshot-handlers.ts'
import { SNAPSHOT_LIMITS } from '../replication/snapshot/snapshot-limits.ts'
import { SnapshotSource } from '../replication/snapshot/snapshot-source.ts'
import type { IndexParts } from '../shard/following/shard-indexes.ts'
import { RemoteShard } from '../shard/remote/remote-shard.ts'
import { serveReplicas, serveShards } from '../shard/remote/serve-shards.ts'
import { readAppliedPosition } from '../shard/replica-snapshot.ts'
import { parseShardId, type ShardId } from '../shard/shard-id.ts'
import type { ShardRouter } from '../shard/shard-router.ts'
import type { AdmitWrite } from '../storage/disk-guard.ts'
import { LevelKvStore } from '../storage/level-kv-store.ts'
import type { LevelStoreFactory } from '../storage/level-store-factory.ts'
import { ClusterShard } from './cluster-shard.ts'
import { KnownPlaces } from './known-places.ts'
import { NearReplicas } from './near-replicas.ts'
import { ReplicaAudit } from './replica-audit.ts'
import { offerCopy, ReplicaCopies } from './replica-copies.ts'
import { ReplicaCounts } from './replica-counts.ts'
import { ReplicaHost } from './replica-host.ts'
import { ReplicaPeers, replicaHandlers } from './replica-peers.ts'

/** What the replicas of a node are built from. */
export interface ReplicaParts {
  readonly self: ReplicaId
  readonly dataDir: string
  readonly stores: LevelStoreFactory
  readonly journal: Journal
  readonly admit?: AdmitWrite
  readonly map: ClusterMap
  readonly leaders: LeaderPlaces
  readonly router: ShardRouter
  readonly led: LedShards
  /** Undefined: the shards have no indexes. */
  readonly indexes: IndexParts | undefined
  /** Asks the controller to let another replica lead. */
  readonly handOver: (path: ShardPath, to: NodeId) => Promise<void>
  /** How often replicas are checked for damage; 0: never. */
  readonly checkIntervalMs: number
  /** A replica of the disk cannot be trusted. */
  readonly onDamaged: () => void
  readonly hybridClock: HybridClock
  readonly clock: Clock
  readonly log: Log
  readonly random: Random
}

/** The replicas of this node, what copies them, and what looks for damage in them. */
export interface Replicas {
  readonly host: ReplicaHost
  readonly source: SnapshotSource
  readonly copies: ReplicaCopies
  readonly counts: ReplicaCounts
  readonly near: NearReplicas
  /** The shard as this node calls it, wherever it is led. */
  readonly shardOf: (record: ShardRecord) => ClusterShard
  /** What other nodes ask of replicas here. */
  readonly handlers: readonly PeerHandlers[]
}

/** Opens all that the disk has; `life` closes it. */
export async function openReplicas(parts: ReplicaParts, life: Lifecycle): Promise<Replicas> {
  const { map, leaders, clock, hybridClock, log, stores, random } = parts
  const { node: self, incarnation } = parts.self
  const arrivals = await openArrivals(parts)
  const counts = new ReplicaCounts()
  const host = await openHost(parts, counts)
  const source = await openSource(parts, host)
  life.onClose(() => source.closeAll())
  const configurations = shardConfigurations(map)
  const linkTo = leaders.linkTo.bind(leaders)
  const known = { self, host, configurations, linkTo, clock, log, counts }
  const copies = new ReplicaCopies({
    ...known,
    arrivals,
    source,
    random,
    handOver: ({ tableId, id }, to) => parts.handOver(`${tableId}/${id}`, to),
  })
  life.onClose(() => copies.close())
  const onDamaged = (id: ShardId, reason: ServiceError): void => copies.replaceDamaged(id, reason)
  stores.onDamage((name, error) => onDamaged(parseShardId(name), error))
  const audit = new ReplicaAudit({
    ...known,
    hashes: source.hashes,
    directoryOf: (id) => stores.directoryOf(id),
    onDamaged,
    intervalMs: parts.checkIntervalMs,
  })
  life.onClose(() => audit.close())
  const local = (id: ShardId) => host.find(id)
  const near = new NearReplicas({ self, map, local, linkTo, clock, hybridClock, random })
  const places = new KnownPlaces({ self, map, host, leaders })
  const shardOf = ({ id, range }: ShardRecord): ClusterShard => {
    const remote = new RemoteShard({ id, range, places, clock, hybridClock, random })
    return new ClusterShard({ local: () => host.find(id), remote })
  }
  const endOf = (name: string) => host.endOf(parseShardId(name.slice(name.indexOf('/') + 1)))
  const receive = host.receive.bind(host)
  const receiveBeat = host.receiveBeat.bind(host)
  const handlers = [
    serveShards({ find: places.find, coming: places, hybridClock, clock }),
    serveReplicas({ find: places.findReplica, hybridClock, clock }),
    replicaHandlers({ receive, receiveBeat }, log),
    snapshotHandlers(source),
    copies.handlers(),
    audit.handlers(),
    logEndHandlers(incarnation, endOf),
  ]
  return { host, source, copies, counts, near, shardOf, handlers }
}

/** Swaps that a crash interrupted are completed before any store is opened. */
async function openArrivals({
  dataDir,
  stores,
  journal,
  admit,
  indexes,
  clock,
  log,
}: ReplicaParts): Promise<Arrivals> {
  const arrivals = await Arrivals.open({
    directory: path.join(dataDir, 'snapshots', 'incoming'),
    indexRoot: indexes?.root ?? path.join(dataDir, 'indexes'),
    openStore: (directory) => LevelKvStore.open(directory, { clock }),
    replaceStore: (name, directory) => stores.replace(name, directory),
    readPosition: readAppliedPosition,
    admit: (bytes) => admit?.(bytes, false),
    log,
  })
  await arrivals.settle((ids) => restartedLogs(journal, ids))
  return arrivals
}

function openHost(parts: ReplicaParts, counts: ReplicaCounts): Promise<ReplicaHost> {
  const { map, leaders, log, onDamaged } = parts
  const linkTo = leaders.linkTo.bind(leaders)
  return ReplicaHost.open({
    ...parts,
    network: new ReplicaPeers({ linkTo, log }),
    configurations: shardConfigurations(map),
    offerSnapshot: (id, to) => offerCopy(linkTo(to), id),
    onContradicted: onDamaged,
    counts,
  })
}

function openSource({ dataDir, clock, log }: ReplicaParts, host: ReplicaHost) {
  return SnapshotSource.open({
    replicaOf: (logId) => host.find(parseShardId(logId))?.copied,
    directory: path.join(dataDir, 'snapshots', 'outgoing'),
    clock,
    log,
    randomBytes,
    limits: SNAPSHOT_LIMITS,
  })
}
