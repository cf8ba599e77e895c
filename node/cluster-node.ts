// One node of a cluster, built in order; this file is the diagram.
//
//   data directory ─► identity ─► hybrid clock ─► journal ─► etcd ─► peers ─► map ─► controller
//                                                              └─► replicas, tables ─► store ─► HTTP

import { randomBytes, randomUUID } from 'node:crypto'
import { must } from '../lib/assert.ts'
import { systemClock, type Clock } from '../lib/clock.ts'
import { messageOf } from '../lib/errors.ts'
import { startHealthServer } from '../lib/http/health-server.ts'
import { Lifecycle } from '../lib/lifecycle.ts'
import type { Log } from '../lib/log.ts'
import { readProduct } from '../lib/process/product.ts'
import { endProcess, loggedEnd, openServerLog } from '../lib/process/server-process.ts'
import { ApiMetrics } from './api/metrics.ts'
import { readinessReply } from './api/readiness-reply.ts'
import { buildLoopWatch, startApiServer } from './api/server/api-server.ts'
import { ClusterMap } from './cluster/cluster-map.ts'
import { joinCluster, type Membership } from './cluster/membership.ts'
import { NodeIdentity } from './cluster/node-identity.ts'
import {
  advertisedAddresses,
  readClusterFiles,
  type ClusterFiles,
  type PemFiles,
  type ClusterNodeConfig,
} from './cluster-config.ts'
import { ClusterAdmin } from './controller/shell/cluster-admin.ts'
import { Controller } from './controller/shell/controller.ts'
import { controllerHandlers, controllerPeers } from './controller/shell/controller-calls.ts'
import type { Coordination } from './coordination/coordination.ts'
import { openEtcdCoordination } from './coordination/etcd/open-etcd-coordination.ts'
import { KnownPlaces } from './coordinator/cluster/known-places.ts'
import { LoopbackLink } from './coordinator/cluster/loopback-link.ts'
import { CATALOG_KEYS, openClusterStore } from './coordinator/cluster/open-cluster-store.ts'
import type { ReplicaHost } from './coordinator/cluster/replica-host.ts'
import {
  addMetrics,
  apiOptionsOf,
  indexesOf,
  openHybridClock,
  openJournal,
  openLocalCoordination,
  openStores,
  watchLoop,
  type RunningNode,
} from './node-parts.ts'
import { TcpTransport, type TlsIdentity } from './peer/channels/tcp-transport.ts'
import { openPeerNode, PEER_VERSIONS } from './peer/connections/open-peer-node.ts'
import { PEER_LIMITS } from './peer/peer-limits.ts'
import type { PeerHandler, PeerHandlers, PeerNode } from './peer/peer.ts'
import { openDataDirectory } from './storage/data-directory.ts'
import { DiskGuard } from './storage/disk-guard.ts'

/** A start waits so long for etcd and for the tables. */
const START_MS = 60_000

export function startClusterNode(config: ClusterNodeConfig): Promise<RunningNode> {
  return Lifecycle.build((life) => buildClusterNode(config, life))
}

/** Handlers that are known one after the other; the node of peers asks for them with each call. */
class LateHandlers extends Map<number, PeerHandler> {
  add(handlers: PeerHandlers): void {
    for (const [operation, handler] of handlers) this.set(operation, handler)
  }
}

async function buildClusterNode(config: ClusterNodeConfig, life: Lifecycle): Promise<RunningNode> {
  const clock = systemClock
  const log = openServerLog(config.logLevel, 'store')
  const metrics = new ApiMetrics()
  const loop = buildLoopWatch(clock, log)
  const files = await readClusterFiles(config)

  const directory = await openDataDirectory(config.dataDir, { clock })
  life.onClose(() => directory.close())
  const { version } = readProduct()
  const { logLevel, cluster: name } = config
  const started = { version, node: process.version, dataDir: directory.path, logLevel }
  log.info('server starts', { ...started, cluster: name, nodeId: directory.id })
  const guard = new DiskGuard({
    directory: directory.path,
    reserveBytes: config.diskReserveBytes,
    clock,
  })

  // The clock's bound lies here, so that stamps are given while etcd is away.
  const local = await openLocalCoordination(config, directory.path, { clock, life })
  const nodeId = directory.id
  const hybridClock = await openHybridClock(local, { clock, log, life, nodeId })
  const stores = await openStores(directory, clock)
  await directory.allowMarks()
  const journal = await openJournal(directory, { clock, log, guard, mayMark: true })
  life.onClose(() => journal.close())
  const identity = await NodeIdentity.open(directory)
  const self = { node: nodeId, incarnation: identity.incarnation }
  const signal = AbortSignal.timeout(START_MS)

  const coordination = await openEtcd(config, files, { clock, nodeId })
  life.onClose(() => coordination.close())
  const map = await ClusterMap.open({ coordination, clock, log }, signal)
  life.onClose(() => map.close())

  const handlers = new LateHandlers()
  const known: { host?: ReplicaHost; peers?: PeerNode; membership?: Membership } = {}
  const places = new KnownPlaces({
    self: nodeId,
    map,
    host: () => must(known.host, 'the host of replicas'),
    peers: () => must(known.peers, 'the node of peers'),
    loopback: new LoopbackLink(nodeId, () => handlers, clock),
  })
  const peers = await openPeers(config, files, { nodeId, handlers, clock, log })
  known.peers = peers
  life.onClose(() => peers.close())

  const controller = new Controller({
    coordination,
    node: nodeId,
    catalog: CATALOG_KEYS,
    clock,
    log,
  })
  life.onClose(() => controller.close())
  handlers.add(controllerHandlers(controller))
  const control = new ClusterAdmin({
    name,
    node: nodeId,
    coordination,
    map,
    controller,
    peers: controllerPeers(peers, (id) => map.addressOf(id)),
    clock,
    newOperation: randomUUID,
  })

  const opened = await openClusterStore(
    {
      coordination,
      stores,
      journal,
      admit: (bytes) => guard.assertRoomFor(bytes),
      hybridClock,
      clock,
      log,
      version,
      nodeId,
      randomBits: () => randomBytes(8).toString('hex'),
      indexes: indexesOf(config, directory.path),
      self,
      map,
      control,
      places,
      random: Math.random,
      onHandlers: (ofStore, host) => {
        known.host = host
        handlers.add(ofStore)
      },
      onDamaged: () => {
        void identity.markDamaged(identity.incarnation).then(() => known.membership?.markDamaged())
      },
    },
    life,
    signal,
  )
  const { store, cluster } = opened
  addMetrics(metrics, opened.metrics, { guard, reserveBytes: config.diskReserveBytes })

  let isStopping = false
  const health = await startHealthServer({
    host: config.host,
    port: config.healthPort,
    clock,
    random: Math.random,
    readiness: () => readinessReply(store.ready() && !isStopping, store.indexCounts()),
    metrics,
  })
  life.onClose(() => health.close())
  const apiOptions = apiOptionsOf(config, log)
  const api = await startApiServer({ ...apiOptions, service: store, cluster, metrics, loop })
  life.onClose(() => api.close())

  const ports = { api: Number(new URL(api.url).port), peer: peers.port }
  const addresses = advertisedAddresses(config, ports)
  const description = { zone: config.zone, addresses, version }
  const joining = { coordination, identity, cluster: name, description, clock, log }
  const membership = await joinCluster({ ...joining, newClusterId: randomUUID }, signal)
  known.membership = membership
  life.onClose(() => membership.close())
  membership.ended.addEventListener('abort', () => {
    endProcess(log, new Error(messageOf(membership.ended.reason)))
  })
  await opened.finishStart()
  watchLoop(loop, { metrics, life, hangMs: config.loopHangMs })
  // These come first: load balancers and the controller look elsewhere while open requests finish.
  life.onClose(() => handOver(membership, opened.shards, { clock, log }))
  life.onClose(() => {
    isStopping = true
  })
  log.info('server serves', { api: api.url, health: health.url, peer: addresses.peer })
  const close = loggedEnd(log, clock, () => life.close())
  const urls = { apiUrl: api.url, healthUrl: health.url }
  return { ...urls, close, [Symbol.asyncDispose]: () => close() }
}

interface Parts {
  readonly clock: Clock
  readonly log: Log
}

/** A leaving node waits so long for its shards to get other leaders. */
const HAND_OVER_MS = 30_000
const HAND_OVER_POLL_MS = 50

/** The controller sees that the node leaves and gives its leaderships to others. */
async function handOver(
  membership: Membership,
  led: () => readonly unknown[],
  { clock, log }: Parts,
): Promise<void> {
  try {
    await membership.leave()
  } catch (error) {
    return log.warn('the cluster does not know that this node leaves', { error: messageOf(error) })
  }
  const untilMs = clock.monotonicMs() + HAND_OVER_MS
  while (led().length > 0 && clock.monotonicMs() < untilMs) await clock.sleep(HAND_OVER_POLL_MS)
  if (led().length > 0) log.warn('leaderships stay with a node that stops', { count: led().length })
}

function openEtcd(
  { etcd: endpoints, cluster }: ClusterNodeConfig,
  { etcdTls, etcdUser }: ClusterFiles,
  { clock, nodeId }: { readonly clock: Clock; readonly nodeId: string },
): Promise<Coordination> {
  const who = { endpoints, cluster, owner: nodeId, clock, random: Math.random }
  return openEtcdCoordination({
    ...who,
    ...(etcdTls && { tls: etcdTls }),
    ...(etcdUser && { user: etcdUser }),
  })
}

function openPeers(
  { peerHost, peerPort, cluster }: ClusterNodeConfig,
  { secret, peerTls }: ClusterFiles,
  { nodeId, handlers, clock, log }: Parts & { nodeId: string; handlers: PeerHandlers },
): Promise<PeerNode> {
  return openPeerNode({
    transport: new TcpTransport({ host: peerHost, ...(peerTls && { tls: identityOf(peerTls) }) }),
    cluster,
    nodeId,
    secret,
    handlers,
    limits: PEER_LIMITS,
    versions: PEER_VERSIONS,
    port: peerPort,
    clock,
    random: Math.random,
    randomBytes,
    log,
    onFault: (error) => log.error('a call of another node failed', { error: messageOf(error) }),
  })
}

function identityOf({ ca, cert, key }: PemFiles): TlsIdentity {
  return { ca: ca.toString(), certificate: cert.toString(), key: key.toString() }
}
