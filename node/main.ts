// One node in swarm mode, built in order; this file is the diagram.
//
//   data directory ─► coordination ─► hybrid clock ─► journal, shards ─► transactions ─► store ─► HTTP

import { randomBytes } from 'node:crypto'
import { systemClock, type Clock } from '../lib/clock.ts'
import { startHealthServer } from '../lib/http/health-server.ts'
import type { RunningServer } from '../lib/http/listener.ts'
import type { BytesReply } from '../lib/http/reply.ts'
import { Lifecycle } from '../lib/lifecycle.ts'
import type { LogLevel } from '../lib/log.ts'
import { Descriptors } from '../lib/process/descriptors.ts'
import { readProduct, type Product } from '../lib/process/product.ts'
import { openServerLog } from '../lib/process/server-process.ts'
import { ApiMetrics } from './api/metrics.ts'
import { StartingNode } from './api/starting-node.ts'
import { buildLoopWatch, startApiServer } from './api/server/api-server.ts'
import { mediaOf, providersOf, type NodeConfig } from './config.ts'
import { openKeySeal } from './store/key-seal-file.ts'
import { openSwarmStore } from './store/open-swarm-store.ts'
import { refuseDirectoryOfNode } from './directory-use.ts'
import {
  addMetrics,
  apiOptionsOf,
  guardedBy,
  indexesOf,
  openHybridClock,
  openJournal,
  openLocalCoordination,
  openStores,
  shardFilesOf,
  runningNode,
  watchLoop,
  type RunningNode,
} from './node-parts.ts'
import { ReloadedSettings } from './reloaded-settings.ts'
import type { OwnInferenceUrl } from './providers/access/provider-access.ts'
import { openDataDirectory } from './storage/data-directory.ts'
import { DiskGuard } from './storage/disk-guard.ts'

export type { RunningNode } from './node-parts.ts'

/** `ownInference`: an inference server that was started for this node alone. */
export function startNode(
  config: NodeConfig,
  ownInference?: OwnInferenceUrl,
  levelOf = async (): Promise<LogLevel> => config.logLevel,
): Promise<RunningNode> {
  return Lifecycle.build((life) => buildNode({ config, ownInference, levelOf }, life))
}

interface NodeParts {
  readonly config: NodeConfig
  readonly ownInference: OwnInferenceUrl | undefined
  /** Reads the level of the configuration again. */
  readonly levelOf: () => Promise<LogLevel>
}

interface HealthParts {
  readonly clock: Clock
  readonly serving: StartingNode
  readonly metrics: ApiMetrics
  readonly product: Product
}

function startHealth(
  { host: apiHost, healthHost, healthPort: port }: NodeConfig,
  { clock, serving, metrics, product }: HealthParts,
): Promise<RunningServer> {
  const readiness = (): BytesReply => serving.readiness()
  const host = healthHost === '' ? apiHost : healthHost
  const random = Math.random
  return startHealthServer({ host, port, clock, random, readiness, metrics, product })
}

async function buildNode({ config, ...given }: NodeParts, life: Lifecycle): Promise<RunningNode> {
  const clock = systemClock
  const log = openServerLog(config.logLevel, 'store')
  const metrics = new ApiMetrics()
  const loop = buildLoopWatch(clock, log)

  const directory = await openDataDirectory(config.dataDir, { clock })
  life.onClose(() => directory.close())
  await refuseDirectoryOfNode(directory.path)
  const product = readProduct()
  const { version, gitCommit } = product
  const { logLevel } = config
  const descriptors = new Descriptors()
  const where = { dataDir: directory.path, openFilesMax: descriptors.limit }
  log.info('server starts', { version, node: process.version, ...where, logLevel })

  // Health answers from here on: a liveness probe would end a process that opens a thousand tables.
  const serving = new StartingNode()
  const health = await startHealth(config, { clock, serving, metrics, product })
  life.onClose(() => health.close())

  const { diskReserveBytes: reserveBytes } = config
  const guard = new DiskGuard({ directory: directory.path, reserveBytes, clock })
  const coordination = await openLocalCoordination(config, directory.path, { clock, log, life })
  const { id: nodeId } = directory
  const hybridClock = await openHybridClock(coordination, { clock, log, life, nodeId })
  const stores = await openStores(directory, { clock, log })
  const journal = await openJournal(directory, { clock, log, guard })
  life.onClose(() => journal.close())

  const swarm = await openSwarmStore(
    {
      coordination,
      stores,
      journal,
      ...guardedBy(guard),
      hybridClock,
      clock,
      log,
      version,
      gitCommit,
      nodeId,
      randomBits: () => randomBytes(8).toString('hex'),
      indexes: indexesOf(config, directory.path),
      providers: providersOf(config, await openKeySeal(directory.path), given.ownInference),
      media: mediaOf(config),
      process: {
        files: shardFilesOf(descriptors),
        onProgress: (progress) => serving.opens(progress),
      },
    },
    life,
  )

  const { store, cluster } = swarm
  addMetrics(metrics, swarm.metrics, { guard, reserveBytes })
  life.onClose(() => health.close()) // before the store, whose metrics it shows

  await swarm.finishStart()
  serving.serves(store)
  const settings = new ReloadedSettings({ node: nodeId, clock, log, levelOf: given.levelOf })
  const apiOptions = { ...apiOptionsOf(config, log), settings }
  const api = await startApiServer({ ...apiOptions, service: store, cluster, metrics, loop })
  life.onClose(() => api.close())
  watchLoop(loop, { metrics, life, hangMs: config.loopHangMs })
  // This comes first, so that load balancers look elsewhere while open requests finish.
  life.onClose(() => serving.stops())
  log.info('server serves', { api: api.url, health: health.url })
  return runningNode({ apiUrl: api.url, healthUrl: health.url }, { settings, log, clock, life })
}
