// One node in swarm mode, built in order; this file is the diagram.
//
//   data directory ─► coordination ─► hybrid clock ─► journal, shards ─► transactions ─► store ─► HTTP

import { randomBytes } from 'node:crypto'
import { systemClock } from '../lib/clock.ts'
import { startHealthServer } from '../lib/http/health-server.ts'
import { Lifecycle } from '../lib/lifecycle.ts'
import { readProduct } from '../lib/process/product.ts'
import { openServerLog, loggedEnd } from '../lib/process/server-process.ts'
import { ApiMetrics } from './api/metrics.ts'
import { readinessReply } from './api/readiness-reply.ts'
import { buildLoopWatch, startApiServer } from './api/server/api-server.ts'
import { mediaOf, providersOf, type NodeConfig } from './config.ts'
import { openSwarmStore } from './coordinator/open-swarm-store.ts'
import { refuseDirectoryOfNode } from './directory-use.ts'
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
import type { OwnInferenceUrl } from './providers/access/provider-access.ts'
import { openDataDirectory } from './storage/data-directory.ts'
import { DiskGuard } from './storage/disk-guard.ts'

export type { RunningNode } from './node-parts.ts'

/** `ownInference`: an inference server that was started for this node alone. */
export function startNode(
  config: NodeConfig,
  ownInference?: OwnInferenceUrl,
): Promise<RunningNode> {
  return Lifecycle.build((life) => buildNode({ config, ownInference }, life))
}

interface NodeParts {
  readonly config: NodeConfig
  readonly ownInference: OwnInferenceUrl | undefined
}

async function buildNode({ config, ...given }: NodeParts, life: Lifecycle): Promise<RunningNode> {
  const clock = systemClock
  const log = openServerLog(config.logLevel, 'store')
  const metrics = new ApiMetrics()
  const loop = buildLoopWatch(clock, log)

  const directory = await openDataDirectory(config.dataDir, { clock })
  life.onClose(() => directory.close())
  await refuseDirectoryOfNode(directory.path)
  const { version } = readProduct()
  const { logLevel } = config
  log.info('server starts', { version, node: process.version, dataDir: directory.path, logLevel })

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
      admit: (bytes) => guard.assertRoomFor(bytes),
      hybridClock,
      clock,
      log,
      version,
      nodeId,
      randomBits: () => randomBytes(8).toString('hex'),
      indexes: indexesOf(config, directory.path),
      providers: providersOf(config, given.ownInference),
      media: mediaOf(config),
    },
    life,
  )

  const { store, cluster } = swarm
  addMetrics(metrics, swarm.metrics, { guard, reserveBytes })

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
  return { apiUrl: api.url, healthUrl: health.url, close, [Symbol.asyncDispose]: () => close() }
}
