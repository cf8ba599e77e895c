// One node of a cluster, built in order; this file is the diagram.
//
//   data directory ─► identity ─► hybrid clock ─► journal ─► etcd ─► peers ─► map ─► controller
//                                                              └─► replicas, tables ─► store ─► HTTP

import { randomBytes, randomUUID } from 'node:crypto'
import { systemClock, type Clock } from '../lib/clock.ts'
import { isServiceError, messageOf } from '../lib/errors.ts'
import { startHealthServer } from '../lib/http/health-server.ts'
import { Lifecycle } from '../lib/lifecycle.ts'
import type { LogLevel } from '../lib/log.ts'
import { readProduct } from '../lib/process/product.ts'
import { endProcess, openServerLog, type ServerLog } from '../lib/process/server-process.ts'
import { ApiMetrics } from './api/metrics.ts'
import { StartingNode } from './api/starting-node.ts'
import { buildLoopWatch, startApiServer } from './api/server/api-server.ts'
import { startWaitingServer } from './api/server/waiting-server.ts'
import { ClusterMap } from './cluster/cluster-map.ts'
import { DamageReport } from './cluster/damage-report.ts'
import { LeaderPlaces } from './cluster/leader-places.ts'
import { awaitControlPlane, type KnownHere } from './cluster/recovery/await-control-plane.ts'
import { ControlPlaneMemory } from './cluster/recovery/control-plane-memory.ts'
import { rememberControlPlane } from './cluster/recovery/remember-control-plane.ts'
import { followSeenLives } from './cluster/registrar.ts'
import { joinCluster, type Membership } from './cluster/membership.ts'
import { depart } from './cluster/departure.ts'
import { NodeIdentity } from './cluster/node-identity.ts'
import { PeerReach, reachHandlers } from './cluster/peer-reach.ts'
import { untilAnswered } from './cluster/until-answered.ts'
import { advertisedAddresses, type ClusterNodeConfig } from './cluster-config.ts'
import { readClusterFiles } from './cluster-files.ts'
import { FilesWatch } from './files-watch.ts'
import { LoadedFiles } from './loaded-files.ts'
import { mediaOf, providersOf } from './config.ts'
import { KeySeal } from './providers/access/key-seal.ts'
import { ClusterAdmin } from './controller/shell/cluster-admin.ts'
import { Controller } from './controller/shell/controller.ts'
import { controllerHandlers, controllerPeers } from './controller/shell/controller-calls.ts'
import { askEndsBy } from './controller/shell/replica-ends.ts'
import type { Coordination } from './coordination/coordination.ts'
import { openEtcdCoordination } from './coordination/etcd/open-etcd-coordination.ts'
import { LoopbackLink } from './replicas/loopback-link.ts'
import { CONTROLLER_CATALOG } from './steering/controller-catalog.ts'
import { recoverForOperators } from './steering/recover-for-operators.ts'
import { sizesOf } from './replicas/shard-sizes.ts'
import { openClusterStore } from './store/open-cluster-store.ts'
import type { OpenedStore } from './store/open-store.ts'
import {
  addMetrics,
  apiOptionsOf,
  indexesOf,
  openHybridClock,
  openJournal,
  openLocalCoordination,
  openStores,
  setAsideJournal,
  runningNode,
  watchLoop,
  type RunningNode,
} from './node-parts.ts'
import { ReloadedSettings } from './reloaded-settings.ts'
import { refuseDirectoryOfSwarm } from './directory-use.ts'
import { TcpTransport } from './peer/channels/tcp-transport.ts'
import { openPeerNode, PEER_VERSIONS } from './peer/connections/open-peer-node.ts'
import { OperationTable } from './peer/operation-table.ts'
import { PEER_LIMITS } from './peer/peer-limits.ts'
import type { PeerAddress, PeerHandlers, PeerLink, PeerNode } from './peer/peer.ts'
import { openDataDirectory } from './storage/data-directory.ts'
import { DiskGuard, type AdmitWrite } from './storage/disk-guard.ts'

/**
 * Resolves when the node serves. Until then its health port answers that it lives and is not ready.
 *
 * - A start waits for etcd as long as it takes, and says so in the log. Recovery takes as long as it takes.
 * - Rejects when somebody refuses: etcd the user, the cluster the node, the system a port or a file.
 * - When `stop` aborts, the start ends within the time of one call of etcd, and rejects with its reason.
 */
export function startClusterNode(
  config: ClusterNodeConfig,
  stop: AbortSignal,
  levelOf = async (): Promise<LogLevel> => config.logLevel,
): Promise<RunningNode> {
  return Lifecycle.build((life) => buildClusterNode({ config, levelOf }, life, stop))
}

interface NodeParts {
  readonly config: ClusterNodeConfig
  /** Reads the level of the configuration again. */
  readonly levelOf: () => Promise<LogLevel>
}

async function buildClusterNode(
  { config, levelOf }: NodeParts,
  life: Lifecycle,
  stop: AbortSignal,
): Promise<RunningNode> {
  const clock = systemClock
  const log = openServerLog(config.logLevel, 'store')
  const metrics = new ApiMetrics()
  const loop = buildLoopWatch(clock, log)
  const read = () => readClusterFiles(config)
  const { loaded, files } = await LoadedFiles.open(config, { read, clock })
  if (files.secretIsExposed) {
    const file = config.clusterSecretFile
    log.warn('other users of this machine can read the secret of the cluster: chmod 600', { file })
  }
  metrics.addLines(() => loaded.lines())
  const base: Base = { config, loaded, life, clock, log, signal: stop }

  const serving = new StartingNode()
  const health = await startHealthServer({
    host: config.healthHost === '' ? config.host : config.healthHost,
    port: config.healthPort,
    clock,
    random: Math.random,
    readiness: () => serving.readiness(),
    metrics,
    product: readProduct(),
  })
  life.onClose(() => health.close())
  log.info('the health port answers', { health: health.url })
  const disk = await openDisk(base)
  const { guard, identity } = disk
  const { settings, endWatch } = openSettings(base, { nodeId: disk.nodeId, levelOf })
  const plane = await openControlPlane(base, disk)
  const { coordination, map } = plane
  if (await untilAnswered(() => followSeenLives(coordination, identity), base)) {
    log.error('the data directory is an older copy: replicas of this node are built anew')
  }
  const damage = new DamageReport(identity, log)
  const opened = await openStoreOf(base, { ...disk, ...plane }, damage)
  const { store, cluster } = opened
  life.onClose(loaded.holdSecrets((secrets) => opened.sealedKeys.lostWith(secrets)))
  life.onClose(endWatch) // before the store, which it asks
  addMetrics(metrics, opened.metrics, { guard, reserveBytes: config.diskReserveBytes })

  life.onClose(() => health.close()) // before the store, whose metrics it shows
  const apiOptions = { ...apiOptionsOf(config, log), settings }
  const api = await startApiServer({ ...apiOptions, service: store, cluster, metrics, loop })
  life.onClose(() => api.close())
  await damage.settled() // what this node has lost is known before anybody counts on it
  const { membership, reach } = await join(base, { ...plane, identity, nodeId: disk.nodeId }, api)
  damage.joined(membership)
  await disk.memory.see({ registered: identity.incarnation })
  await untilAnswered(() => opened.finishStart(), base)
  keepTelling(base, plane, { sizes: () => sizesOf(opened.shards()), disk: () => guard.room() })
  watchLoop(loop, { metrics, life, hangMs: config.loopHangMs })
  // These come first: load balancers and the controller look elsewhere while open requests finish.
  life.onClose(() => depart(membership, { led: opened.shards, map }, { clock, log }))
  // A node that others cannot use is not ready: it would be counted on. Later a partition takes no node out.
  serving.serves(store, () => reach.hasBeenReached)
  life.onClose(() => serving.stops())
  log.info('server serves', { api: api.url, health: health.url, peer: plane.peers.port })
  return runningNode({ apiUrl: api.url, healthUrl: health.url }, { settings, log, clock, life })
}

interface Parts {
  readonly clock: Clock
  readonly log: ServerLog
}

/** What every step of the start works with. */
interface Base extends Parts {
  readonly config: ClusterNodeConfig
  readonly loaded: LoadedFiles
  readonly life: Lifecycle
  /** Ends a start that nobody waits for any more. */
  readonly signal: AbortSignal
}

/**
 * What may be loaded again. Files are watched from here on, because etcd may refuse a node that starts until its
 * certificate is replaced.
 */
function openSettings(
  { config: { reloadIntervalMs: intervalMs }, loaded, life, clock, log }: Base,
  { nodeId, levelOf }: Pick<NodeParts, 'levelOf'> & { readonly nodeId: string },
) {
  const settings = new ReloadedSettings({ node: nodeId, clock, log, levelOf, files: loaded })
  if (intervalMs === 0) return { settings, endWatch: () => undefined }
  const watch = new FilesWatch({
    look: () => loaded.look(),
    load: () => settings.loadFiles(),
    intervalMs,
    clock,
    random: Math.random,
    log,
  })
  const endWatch = () => watch.close()
  life.onClose(endWatch)
  return { settings, endWatch }
}

type Disk = Awaited<ReturnType<typeof openDisk>>

/** Everything that this node keeps for itself. */
async function openDisk({ config, life, clock, log }: Base) {
  const directory = await openDataDirectory(config.dataDir, { clock })
  life.onClose(() => directory.close())
  const identity = await NodeIdentity.open(directory)
  life.onClose(() => identity.markClean()) // when everything else of this node is on disk
  const { version, gitCommit } = readProduct()
  const { logLevel, cluster, nodeName, diskReserveBytes: reserveBytes } = config
  const { id: nodeId, path } = directory
  const started = { version, node: process.version, dataDir: path, logLevel }
  log.info('server starts', { ...started, cluster, nodeId, nodeName })
  const guard = new DiskGuard({ directory: path, reserveBytes, clock })
  // The clock's bound lies here, so that stamps are given while etcd is away.
  const local = await openLocalCoordination(config, path, { clock, log, life })
  await refuseDirectoryOfSwarm(path, local)
  const told = { clock, log, life, nodeId, isAmongOthers: true }
  const hybridClock = await openHybridClock(local, told)
  const stores = await openStores(directory, { clock, log })
  if (!guard.hasRoomFor(0)) {
    const fields = { freeBytes: guard.freeBytes(), reserveBytes }
    log.warn('the disk is full: this start waits for room where it has to write', fields)
  }
  const opening = { clock, log, guard, mayMark: true }
  const journal = await openJournal(directory, opening).catch(async (error: unknown) => {
    if (!isServiceError(error) || error.code !== 'CORRUPTION') throw error
    // Other nodes have what it had, so somebody may look at it later, and this node starts.
    const kept = await setAsideJournal(directory.path)
    log.error('the journal is damaged, and was set aside', { error: error.message, kept })
    return openJournal(directory, opening)
  })
  life.onClose(() => journal.close())
  if (journal.isNew && identity.incarnation > 1) {
    // What this node acknowledged in earlier lives was in a journal that is gone.
    log.warn('the journal is missing: replicas of this node are built anew')
    await identity.markDamaged(identity.incarnation)
  }
  const memory = await ControlPlaneMemory.open(local)
  const program = { version, gitCommit }
  return { ...program, nodeId, path, guard, hybridClock, stores, journal, identity, memory }
}

type ControlPlane = Awaited<ReturnType<typeof openControlPlane>>

/** A node that has to wait answers the operation that ends the wait. */
async function believeControlPlane({ config, ...base }: Base, known: KnownHere): Promise<void> {
  await using waiting = new AsyncDisposableStack()
  const { clock } = base
  const recover = (without: readonly string[]) =>
    recoverForOperators(known.coordination, { without, clock })
  const onRefused = async (): Promise<void> => {
    const server = await startWaitingServer(apiOptionsOf(config, base.log), recover)
    waiting.defer(() => server.close())
  }
  await awaitControlPlane({ ...known, onRefused }, base)
}

/** The ways to etcd and to the other nodes. */
async function openControlPlane(base: Base, { nodeId, journal, memory, identity }: Disk) {
  const { config, loaded, life, clock, log, signal } = base
  const coordination = await untilAnswered(() => openEtcd(config, loaded, { clock, nodeId }), base)
  life.onClose(() => coordination.close())
  const promisedOf = (id: string): number => journal.stateOf(id).promised
  await believeControlPlane(base, { coordination, memory, identity, promisedOf })
  const map = await ClusterMap.open({ coordination, clock, log }, signal)
  life.onClose(() => map.close())
  life.onClose(rememberControlPlane({ map, memory, nodeId, clock, log }))
  const operations = new OperationTable()
  const peers = await openPeers(config, loaded, { nodeId, handlers: operations, clock, log })
  life.onClose(() => peers.close())
  const catalog = CONTROLLER_CATALOG
  const frozenBy = (): string | undefined =>
    map.health.kind === 'frozen' ? map.health.reason : undefined
  const seen = { coordination, catalog, frozenBy }
  const loopback = new LoopbackLink(nodeId, operations, clock)
  const link = (address: PeerAddress): PeerLink =>
    address.nodeId === nodeId ? loopback : peers.link(address)
  const leaders = new LeaderPlaces(map, { link })
  // Its own replicas it asks before the cluster knows its address.
  const askEnds = askEndsBy((id) => (id === nodeId ? loopback : leaders.linkTo(id)))
  const controller = new Controller({ ...seen, node: nodeId, askEnds, clock, log })
  life.onClose(() => controller.close())
  operations.add(controllerHandlers(controller))
  operations.add(reachHandlers(peers))
  const control = new ClusterAdmin({
    name: config.cluster,
    node: nodeId,
    coordination,
    map,
    controller,
    peers: controllerPeers(peers, (id) => map.addressOf(id)),
    clock,
    newOperation: randomUUID,
  })
  return { coordination, map, operations, peers, leaders, control }
}

function openStoreOf(
  { config, loaded, life, clock, log, signal }: Base,
  parts: Disk & ControlPlane,
  damage: DamageReport,
): Promise<OpenedStore> {
  const { nodeId, path, guard, identity, peers: _, memory: __, ...others } = parts
  const self = { node: nodeId, incarnation: identity.incarnation }
  const own = {
    ...others,
    dataDir: path,
    nodeId,
    clock,
    log,
    self,
    onDamaged: () => damage.report(),
    checkIntervalMs: config.checkIntervalMs,
  }
  const admit: AdmitWrite = (bytes, frees) => guard.assertRoomFor(bytes, frees)
  const indexes = indexesOf(config, path)
  const models = {
    providers: providersOf(config, new KeySeal(loaded.secrets)),
    media: mediaOf(config),
  }
  const made = { ...own, ...models, admit, randomBits: random64, indexes, random: Math.random }
  return openClusterStore(made, life, signal)
}

/** What the controller is told while this node runs. */
function keepTelling(
  { life }: Base,
  { control }: ControlPlane,
  told: {
    readonly sizes: Parameters<ClusterAdmin['keepTellingSizes']>[0]
    readonly disk: Parameters<ClusterAdmin['keepTellingDisk']>[0]
  },
): void {
  life.onClose(control.keepTellingSizes(told.sizes))
  life.onClose(control.keepTellingDisk(told.disk))
}

function random64(): string {
  return randomBytes(8).toString('hex')
}

/** The node serves its replicas, and others have called it back, before they can name it as a place for more. */
async function join(
  base: Base,
  {
    coordination,
    identity,
    map,
    peers,
    nodeId,
  }: Pick<Disk & ControlPlane, 'coordination' | 'identity' | 'map' | 'peers' | 'nodeId'>,
  api: { readonly url: string },
): Promise<{ readonly membership: Membership; readonly reach: PeerReach }> {
  const { config, life, clock, log, signal } = base
  const ports = { api: Number(new URL(api.url).port), peer: peers.port }
  const { cluster, zone } = config
  const { version } = readProduct()
  const addresses = advertisedAddresses(config, ports)
  const reach = new PeerReach({ self: nodeId, address: addresses.peer, map, peers, clock, log })
  await reach.look()
  const name = config.nodeName === '' ? undefined : config.nodeName
  const description = { zone, name, addresses, version }
  const { unreached } = reach
  const joining = { coordination, identity, cluster, description, unreached, clock, log }
  const asking = { ...joining, newClusterId: randomUUID }
  const membership = await untilAnswered(() => joinCluster(asking, signal), base)
  life.onClose(() => membership.close())
  life.onClose(reach.keep((reason) => membership.reach(reason)))
  membership.ended.addEventListener('abort', () => {
    endProcess(log, new Error(messageOf(membership.ended.reason)))
  })
  return { membership, reach }
}

function openEtcd(
  { etcd: endpoints, cluster }: ClusterNodeConfig,
  { etcd: credentials }: LoadedFiles,
  { clock, nodeId }: { readonly clock: Clock; readonly nodeId: string },
): Promise<Coordination> {
  const who = { endpoints, cluster, owner: nodeId, clock, random: Math.random }
  return openEtcdCoordination({
    ...who,
    leaseThread: true,
    credentials,
  })
}

function openPeers(
  { peerHost, peerPort, cluster }: ClusterNodeConfig,
  { secrets, peerTls: tls }: LoadedFiles,
  { nodeId, handlers, clock, log }: Parts & { nodeId: string; handlers: PeerHandlers },
): Promise<PeerNode> {
  return openPeerNode({
    transport: new TcpTransport({ host: peerHost, ...(tls && { tls }) }),
    cluster,
    nodeId,
    secrets,
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
