// One node in swarm mode, built in order; this file is the diagram.
//
//   data directory ─► coordination ─► hybrid clock ─► shards ─► transactions ─► store ─► HTTP

import { randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'
import path from 'node:path'
import { pino } from 'pino'
import type { InvariantError } from '../lib/assert.ts'
import { systemClock, type Clock } from '../lib/clock.ts'
import { Lifecycle } from '../lib/lifecycle.ts'
import type { Log } from '../lib/log.ts'
import { buildApiMetrics, startApiServer } from './api/server.ts'
import { startHealthServer } from './api/health-server.ts'
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

export async function startNode(config: NodeConfig): Promise<RunningNode> {
  const life = new Lifecycle()
  try {
    return await buildNode(config, life)
  } catch (error) {
    await life.close()
    throw error
  }
}

async function buildNode(config: NodeConfig, life: Lifecycle): Promise<RunningNode> {
  const clock = systemClock
  const log = buildLog(config)
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
      version: productVersion(),
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
    service: store,
    metrics,
    host: config.host,
    port: config.healthPort,
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

/** A broken invariant means that memory can no longer be trusted; what is on disk still can. */
function endProcess(log: Log, error: InvariantError): void {
  log.error('invariant broken, the process ends', { error: error.stack })
  setImmediate(() => process.exit(70))
}

function buildLog({ logLevel }: NodeConfig): Log {
  const lines = pino({ level: logLevel }, pino.destination({ dest: 2, sync: true }))
  return {
    debug: (message, fields) => lines.debug(fields, message),
    info: (message, fields) => lines.info(fields, message),
    warn: (message, fields) => lines.warn(fields, message),
    error: (message, fields) => lines.error(fields, message),
  }
}

function productVersion(): string {
  const file = path.resolve(import.meta.dirname, '../package.json')
  const manifest: { readonly version: string } = JSON.parse(readFileSync(file, 'utf8'))
  return manifest.version
}
