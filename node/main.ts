// One node in swarm mode, built in order; this file is the diagram.
//
//   data directory ─► coordination ─► hybrid clock ─► shards ─► transactions ─► store ─► HTTP

import { randomBytes } from 'node:crypto'
import path from 'node:path'
import { systemClock, type Clock } from '../lib/clock.ts'
import { startHealthServer } from '../lib/http/health-server.ts'
import { Lifecycle } from '../lib/lifecycle.ts'
import { endProcess, openServerLog, readProduct } from '../lib/process/server-process.ts'
import { readinessReply } from './api/readiness-reply.ts'
import { buildApiMetrics, startApiServer } from './api/server.ts'
import { BOUND_AHEAD_MS, HybridClock } from './clock/hybrid-clock.ts'
import type { NodeConfig } from './config.ts'
import { EmbeddedCoordination } from './coordination/embedded-coordination.ts'
import { StoredTimestampBound } from './coordination/stored-timestamp-bound.ts'
import { openSwarmStore } from './coordinator/open-swarm-store.ts'
import { openDataDirectory } from './storage/data-directory.ts'
import { DiskGuard } from './storage/disk-guard.ts'
import type { KvStore } from './storage/kv-store.ts'
import { LevelKvStore } from './storage/level-kv-store.ts'
import { LevelStoreFactory } from './storage/level-store-factory.ts'

const CATALOG_RESERVE_PART = 4

export interface RunningNode extends AsyncDisposable {
  readonly apiUrl: string
  readonly healthUrl: string
  close(): Promise<void>
}

export function startNode(config: NodeConfig): Promise<RunningNode> {
  return Lifecycle.build((life) => buildNode(config, life))
}

async function buildNode(config: NodeConfig, life: Lifecycle): Promise<RunningNode> {
  const clock = systemClock
  const log = openServerLog(config.logLevel)
  const metrics = buildApiMetrics()

  const directory = await openDataDirectory(config.dataDir, { clock })
  life.onClose(() => directory.close())

  const guard = new DiskGuard({
    directory: directory.path,
    reserveBytes: config.diskReserveBytes,
    clock,
  })
  const catalogStore = await openCatalogStore(config, directory.path, clock)
  life.onClose(() => catalogStore.close())
  const coordination = new EmbeddedCoordination(catalogStore)
  life.onClose(() => coordination.close())

  const bound = new StoredTimestampBound(coordination, '/clock/bound')
  const hybridClock = await HybridClock.open(clock, bound)
  life.onClose(() => hybridClock.close())
  life.onClose(clock.every(BOUND_AHEAD_MS / 3, () => hybridClock.keepAhead()))
  const stores = await LevelStoreFactory.open(path.join(directory.path, 'shards'), { clock, guard })

  const { store, finishStart } = await openSwarmStore(
    {
      coordination,
      stores,
      hybridClock,
      clock,
      log,
      version: readProduct().version,
      randomBits: () => randomBytes(8).toString('hex'),
      text: {
        indexRoot: path.join(directory.path, 'indexes'),
        memoryBytesMax: config.textMemoryBytes,
      },
    },
    life,
  )

  // Health answers while recovery runs; the API opens when nothing is left of the last life.
  const health = await startHealthServer({
    host: config.host,
    port: config.healthPort,
    clock,
    readiness: () => readinessReply(store.ready()),
    metrics,
  })
  life.onClose(() => health.close())
  await finishStart()
  const api = await startApiServer({
    service: store,
    host: config.host,
    port: config.apiPort,
    insecure: config.insecure,
    log,
    random: Math.random,
    metrics,
    onInvariantBroken: (error) => endProcess(log, error),
  })
  life.onClose(() => api.close())
  log.info('node serves', { api: api.url, health: health.url, dataDir: directory.path })
  const close = (): Promise<void> => life.close()
  return { apiUrl: api.url, healthUrl: health.url, close, [Symbol.asyncDispose]: close }
}

/** The catalog goes on when shards already refuse writes: the clock's bound is kept there. */
function openCatalogStore(
  { diskReserveBytes }: NodeConfig,
  directory: string,
  clock: Clock,
): Promise<KvStore> {
  const reserveBytes = Math.floor(diskReserveBytes / CATALOG_RESERVE_PART)
  const guard = new DiskGuard({ directory, reserveBytes, clock })
  return LevelKvStore.open(path.join(directory, 'catalog'), { clock, guard })
}
