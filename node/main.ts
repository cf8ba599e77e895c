// One node in swarm mode, built in order; this file is the diagram.
//
//   data directory ─► coordination ─► hybrid clock ─► journal, shards ─► transactions ─► store ─► HTTP

import { randomBytes } from 'node:crypto'
import path from 'node:path'
import type { InvariantError } from '../lib/assert.ts'
import { systemClock, type Clock } from '../lib/clock.ts'
import { startHealthServer } from '../lib/http/health-server.ts'
import { Lifecycle } from '../lib/lifecycle.ts'
import type { Log } from '../lib/log.ts'
import type { LoopWatch } from '../lib/loop-watch.ts'
import type { MetricSource } from '../lib/metrics.ts'
import { guardLoop } from '../lib/process/hang-guard.ts'
import { processMetrics } from '../lib/process/process-metrics.ts'
import { readProduct } from '../lib/process/product.ts'
import { endProcess, openServerLog, loggedEnd } from '../lib/process/server-process.ts'
import { ApiMetrics } from './api/metrics.ts'
import { readinessReply } from './api/readiness-reply.ts'
import { buildLoopWatch, startApiServer } from './api/server/api-server.ts'
import { BOUND_AHEAD_MS, HybridClock } from './clock/hybrid-clock.ts'
import type { NodeConfig } from './config.ts'
import type { Coordination } from './coordination/coordination.ts'
import { EmbeddedCoordination } from './coordination/embedded-coordination.ts'
import { StoredTimestampBound } from './coordination/stored-timestamp-bound.ts'
import { openSwarmStore } from './coordinator/open-swarm-store.ts'
import { DiskJournalDirectory } from './journal/disk-journal-directory.ts'
import { Journal } from './journal/journal.ts'
import { convertStores, markUnnumbered } from './shard/convert-store.ts'
import { openDataDirectory, type DataDirectory } from './storage/data-directory.ts'
import { DiskGuard } from './storage/disk-guard.ts'
import { LevelKvStore } from './storage/level-kv-store.ts'
import { LevelStoreFactory } from './storage/level-store-factory.ts'

const CATALOG_RESERVE_PART = 4

/** A node that serves. Disposing it is `close` without a reason. */
export interface RunningNode extends AsyncDisposable {
  readonly apiUrl: string
  readonly healthUrl: string
  /** Ends open requests, then closes the store. `reason` goes to the log. */
  close(reason?: string): Promise<void>
}

export function startNode(config: NodeConfig): Promise<RunningNode> {
  return Lifecycle.build((life) => buildNode(config, life))
}

async function buildNode(config: NodeConfig, life: Lifecycle): Promise<RunningNode> {
  const clock = systemClock
  const log = openServerLog(config.logLevel, 'store')
  const metrics = new ApiMetrics()
  const loop = buildLoopWatch(clock, log)

  const directory = await openDataDirectory(config.dataDir, { clock })
  life.onClose(() => directory.close())
  const { version } = readProduct()
  const { logLevel } = config
  log.info('server starts', { version, node: process.version, dataDir: directory.path, logLevel })

  const guard = new DiskGuard({
    directory: directory.path,
    reserveBytes: config.diskReserveBytes,
    clock,
  })
  const coordination = await openCoordination(config, directory.path, { clock, life })
  const { id: nodeId } = directory
  const hybridClock = await openHybridClock(coordination, { clock, log, life, nodeId })
  const stores = await openStores(directory, clock)
  const journal = await openJournal(directory, { clock, log, guard })
  life.onClose(() => journal.close())

  const swarm = await openSwarmStore(
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
    },
    life,
  )

  const { store, cluster } = swarm
  addMetrics(metrics, swarm.metrics, { guard, reserveBytes: config.diskReserveBytes })

  let isStopping = false
  // Health answers while recovery runs; the API opens when nothing is left of the last life.
  const health = await startHealthServer({
    host: config.host,
    port: config.healthPort,
    clock,
    random: Math.random,
    readiness: () => readinessReply(store.ready() && !isStopping, store.indexCounts()),
    metrics,
  })
  life.onClose(() => health.close())
  await swarm.finishStart()
  const apiOptions = apiOptionsOf(config, log)
  const api = await startApiServer({ ...apiOptions, service: store, cluster, metrics, loop })
  life.onClose(() => api.close())
  watchLoop(loop, { metrics, life, hangMs: config.loopHangMs })
  // This comes first, so that load balancers look elsewhere while open requests finish.
  life.onClose(() => {
    isStopping = true
  })
  log.info('server serves', { api: api.url, health: health.url })
  const close = loggedEnd(log, clock, () => life.close())
  const urls = { apiUrl: api.url, healthUrl: health.url }
  return { ...urls, close, [Symbol.asyncDispose]: () => close() }
}

function apiOptionsOf(config: NodeConfig, log: Log) {
  const { host, apiPort: port, insecure, requestMemoryBytes, logLevel } = config
  const { corsOrigins, publicUrls } = config
  return {
    host,
    port,
    insecure,
    corsOrigins,
    publicUrls,
    requestMemoryBytes,
    log,
    logsRequests: logLevel === 'debug',
    random: Math.random,
    onInvariantBroken: (error: InvariantError) => endProcess(log, error),
  }
}

interface ClockParts {
  /** Tells the data directory from every other one. */
  readonly nodeId: string
  readonly clock: Clock
  readonly log: Log
  readonly life: Lifecycle
}

async function openHybridClock(
  coordination: Coordination,
  { clock, log, life, nodeId }: ClockParts,
): Promise<HybridClock> {
  const bound = new StoredTimestampBound(coordination, nodeId)
  const hybridClock = await HybridClock.open(clock, bound, { log })
  life.onClose(() => hybridClock.close())
  life.onClose(clock.every(BOUND_AHEAD_MS / 3, () => hybridClock.keepAhead()))
  return hybridClock
}

function indexesOf(config: NodeConfig, directory: string) {
  return {
    indexRoot: path.join(directory, 'indexes'),
    memoryBytesMax: config.textMemoryBytes,
    hangMs: config.textWorkerHangMs,
  }
}

/** The stores of the shards, converted first if the directory is of an earlier format. */
async function openStores(directory: DataDirectory, clock: Clock): Promise<LevelStoreFactory> {
  const root = path.join(directory.path, 'shards')
  if (directory.formatVersion < 2) {
    await convertStores(await LevelStoreFactory.open(root, { clock, ownLog: 'replay' }))
  }
  if (directory.formatVersion < 3) {
    await markUnnumbered(await LevelStoreFactory.open(root, { clock, ownLog: 'discard' }))
    // Before anything of the newest format is written: an older program must not read it.
    await directory.markConverted()
  }
  return LevelStoreFactory.open(root, { clock, ownLog: 'discard' })
}

interface JournalParts {
  readonly clock: Clock
  readonly log: Log
  readonly guard: DiskGuard
}

async function openJournal(
  directory: DataDirectory,
  { clock, log, guard }: JournalParts,
): Promise<Journal> {
  return Journal.open({
    directory: await DiskJournalDirectory.open(path.join(directory.path, 'journal')),
    clock,
    log,
    randomBits: () => randomBytes(4).readUInt32BE(),
    hasRoomFor: (bytes) => guard.hasRoomFor(bytes),
    onFailure: (error) => endProcess(log, error),
  })
}

/** Metrics are served from the start, because recovery may be long. */
function addMetrics(
  metrics: ApiMetrics,
  sources: readonly MetricSource[],
  { guard, reserveBytes }: { readonly guard: DiskGuard; readonly reserveBytes: number },
): void {
  for (const source of [processMetrics(), ...sources]) metrics.addLines(source)
  const free = 'Free bytes in the file system of the data directory.'
  metrics.addGauge('quarry_disk_free_bytes', free, () => guard.freeBytes())
  const reserve = 'Writes are refused if fewer bytes than this are free.'
  metrics.addGauge('quarry_disk_reserve_bytes', reserve, () => reserveBytes)
}

/** Once the node serves: what a start takes in one piece holds up nobody. */
function watchLoop(
  loop: LoopWatch,
  { metrics, life, hangMs }: { metrics: ApiMetrics; life: Lifecycle; hangMs: number },
): void {
  metrics.addLines(() => loop.lines())
  life.onClose(loop.start())
  life.onClose(guardLoop(loop, hangMs))
}

/** The catalog takes writes when shards already refuse them, because it keeps the clock's bound. */
async function openCoordination(
  { diskReserveBytes }: NodeConfig,
  directory: string,
  { clock, life }: Pick<ClockParts, 'clock' | 'life'>,
): Promise<Coordination> {
  const reserveBytes = Math.floor(diskReserveBytes / CATALOG_RESERVE_PART)
  const guard = new DiskGuard({ directory, reserveBytes, clock })
  const store = await LevelKvStore.open(path.join(directory, 'catalog'), { clock, guard })
  life.onClose(() => store.close())
  const coordination = new EmbeddedCoordination(store, clock)
  life.onClose(() => coordination.close())
  return coordination
}
