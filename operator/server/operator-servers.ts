// The operator's two ports: probes of the kubelet, and metrics, which more may be allowed to ask for.

import type { Clock } from '../../lib/clock.ts'
import { startHealthServer } from '../../lib/http/health-server.ts'
import { processMetrics } from '../../lib/process/process-metrics.ts'
import { readProduct } from '../../lib/process/product.ts'
import type { Random } from '../../lib/random.ts'
import { clusterLines } from '../metrics/cluster-metrics.ts'
import type { ClusterCaches } from '../reconcile/cluster-caches.ts'
import type { OperatorHealth } from '../runtime/health/operator-health.ts'
import { runtimeLines } from '../runtime/health/runtime-metrics.ts'
import type { MeasuredRuntime } from '../runtime/health/runtime-metrics.ts'

const CONTENT_TYPE = 'text/plain; version=0.0.4; charset=utf-8'

/** Where the servers listen. */
export interface ServerPlaces {
  readonly healthHost: string
  readonly healthPort: number
  readonly metricsHost: string
  readonly metricsPort: number
}

/** What the servers tell of. */
export interface ServedParts {
  readonly health: OperatorHealth
  readonly measured: MeasuredRuntime
  readonly caches: ClusterCaches
  readonly clock: Clock
  readonly random: Random
}

/** Both serve all routes; what differs is where they listen. */
export async function startOperatorServers(
  { healthHost, healthPort, metricsHost, metricsPort }: ServerPlaces,
  { health, measured, caches, clock, random }: ServedParts,
) {
  const ofProcess = processMetrics()
  // Of several processes the leader alone tells of the clusters, so that an alert is one.
  const ofClusters = (): readonly string[] =>
    measured.election.isLeading() ? clusterLines(caches.clusters(), clock.nowMs()) : []
  const lines = async (): Promise<readonly string[]> => [
    ...(await ofProcess()),
    ...runtimeLines(measured),
    ...ofClusters(),
  ]
  const metrics = {
    contentType: () => CONTENT_TYPE,
    text: async () => `${(await lines()).join('\n')}\n`,
  }
  const common = {
    clock,
    random,
    liveness: () => health.liveness(),
    readiness: () => health.readiness(),
    metrics,
    product: readProduct(),
  }
  const probes = await startHealthServer({ ...common, host: healthHost, port: healthPort })
  try {
    const collectors = await startHealthServer({ ...common, host: metricsHost, port: metricsPort })
    const close = async (): Promise<void> => {
      await Promise.all([probes.close(), collectors.close()])
    }
    return { healthUrl: probes.url, metricsUrl: collectors.url, close }
  } catch (error) {
    await probes.close()
    throw error
  }
}
