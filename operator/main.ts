// Builds the operator in order. This file is its diagram.
//
//   API server ─► caches ─► queue ─► workers, while this process leads ─► passes
//
// Every process fills its caches, so that a follower takes over at once. The gate before each write is the Lease.

import { randomUUID } from 'node:crypto'
import { systemClock } from '../lib/clock.ts'
import type { Clock } from '../lib/clock.ts'
import { Lifecycle } from '../lib/lifecycle.ts'
import type { Log } from '../lib/log.ts'
import { readProduct } from '../lib/process/product.ts'
import { endProcess, loggedEnd, openServerLog } from '../lib/process/server-process.ts'
import type { Random } from '../lib/random.ts'
import { StorageClasses } from './observe/storage-classes.ts'
import { KeptAdmins, networkAdmins } from './reconcile/admins.ts'
import type { AdminSource } from './reconcile/admins.ts'
import { ClusterCaches } from './reconcile/cluster-caches.ts'
import { ClusterPasses } from './reconcile/pass.ts'
import { RolloutSlots } from './reconcile/rollout-slots.ts'
import type { KubernetesApi } from './runtime/api/kubernetes-api.ts'
import { KubeConfig } from './runtime/client/kube-config.ts'
import { KubernetesClient } from './runtime/client/kubernetes-client.ts'
import { gatedApi } from './runtime/election/gated-api.ts'
import { EventRecorder } from './runtime/events/event-recorder.ts'
import { OperatorHealth } from './runtime/health/operator-health.ts'
import { endInOrder } from './runtime/health/orderly-end.ts'
import { KeyedQueue } from './runtime/queue/keyed-queue.ts'
import { QueueWorkers } from './runtime/queue/queue-workers.ts'
import { Applier } from './runtime/writes/applier.ts'
import type { OperatorConfig } from './config.ts'
import { openLeadership } from './server/leadership.ts'
import { startOperatorServers } from './server/operator-servers.ts'

/** Passes wait for stores and API servers most of the time. */
const WORKERS_MAX = 32
const CONTROLLER = 'quarry.dev/operator'

/** A running operator. */
export interface RunningOperator extends AsyncDisposable {
  readonly healthUrl: string
  readonly metricsUrl: string
  /** Ends what runs, and gives the leadership away. `reason` is for the log. */
  close(reason?: string): Promise<void>
}

/** Parts that tests replace. */
export interface OperatorOverrides {
  /** Default: as kubectl finds it, or the one of the pod. */
  readonly kubeConfig?: KubeConfig
  /** Wraps the API server. Default: the API server itself. */
  readonly through?: (api: KubernetesApi) => KubernetesApi
  /** By what the stores and etcds of clusters are asked. */
  readonly admins?: AdminSource
  readonly log?: Log
  /** What a lost leadership does. Default: the process ends. */
  readonly onLost?: (reason: string) => void
}

/** Resolves when the servers for probes listen. The API server may be away: the caches are filled when it is back. */
export function startOperator(
  config: OperatorConfig,
  overrides: OperatorOverrides = {},
): Promise<RunningOperator> {
  return Lifecycle.build((life) => buildOperator(config, overrides, life))
}

async function buildOperator(
  config: OperatorConfig,
  overrides: OperatorOverrides,
  life: Lifecycle,
): Promise<RunningOperator> {
  const log = overrides.log ?? openServerLog(config.logLevel, 'operator')
  const clock = systemClock
  const random = Math.random
  const { version } = readProduct()
  const { podName, podNamespace, watchNamespaces } = config
  log.info('server starts', { version, node: process.version, podName, podNamespace })

  const client = new KubernetesClient(overrides.kubeConfig ?? defaultKubeConfig(), clock)
  life.onClose(() => client[Symbol.asyncDispose]())
  const { through = (api) => api } = overrides
  const common = { clock, random, log }
  const identity = identityOf(podName)
  const leadership = openLeadership(through(client), { config, identity, ...common })
  const api = gatedApi(through(client), leadership)

  const queue = new KeyedQueue({ clock, random })
  const onChange = (key: string): void => queue.add(key)
  const caches = new ClusterCaches({ api, namespaces: watchNamespaces, onChange, ...common })
  const events = new EventRecorder({
    api,
    clock,
    log,
    controller: CONTROLLER,
    instance: podName,
    // No note is made of the content of a Secret.
    secrets: () => [],
  })
  const admins = new KeptAdmins(overrides.admins ?? networkAdmins(clock))
  life.onClose(() => admins[Symbol.asyncDispose]())
  const passes = buildPasses(config, { api, caches, admins, events, ...common })
  const workers = new QueueWorkers({
    queue,
    clock,
    log,
    workersMax: WORKERS_MAX,
    reconcile: (key, signal) => passes.pass(key, signal),
  })

  const health = new OperatorHealth({ clock, queue, caches: caches.needed() })
  const running = { clock, queue, workers, caches: caches.all(), election: leadership, events }
  const measured = { ...running, answers: client.connection.answers }
  const servers = await startOperatorServers(config, { health, measured, caches, clock, random })
  life.onClose(() => servers.close())
  life.onClose(() => endInOrder(running))
  health.start()
  life.onClose(() => health.stop())

  caches.start()
  leadership.start()
  void leadership.won
    .then(() => caches.synced())
    .then(() => {
      // The leadership may have ended meanwhile.
      if (leadership.isLeading()) workers.start()
    })
  // What was lost does not come back: the next start is another candidate.
  const { onLost = (reason) => endProcess(log, new Error(`not leading: ${reason}`)) } = overrides
  void leadership.lost.then(onLost)
  const { healthUrl, metricsUrl } = servers
  log.info('server serves', { health: healthUrl, metrics: metricsUrl })
  const close = loggedEnd({ log, clock, life })
  return { healthUrl, metricsUrl, close, [Symbol.asyncDispose]: () => close() }
}

function defaultKubeConfig(): KubeConfig {
  const config = new KubeConfig()
  config.loadFromDefault()
  return config
}

/** Another start of the same pod is another candidate. */
function identityOf(podName: string): string {
  return `${podName}_${randomUUID()}`
}

interface PassParts {
  readonly api: KubernetesApi
  readonly caches: ClusterCaches
  readonly admins: KeptAdmins
  readonly events: EventRecorder
  readonly clock: Clock
  readonly random: Random
  readonly log: Log
}

function buildPasses(config: OperatorConfig, parts: PassParts): ClusterPasses {
  const { nodeImage, inferenceImage, etcdImage, podNamespace: operatorNamespace } = config
  const { version } = readProduct()
  const { api, clock, log } = parts
  return new ClusterPasses({
    ...parts,
    classes: new StorageClasses({ api, clock, log }),
    applier: new Applier(api),
    slots: new RolloutSlots(config.maxConcurrentRollouts),
    defaults: { version, nodeImage, inferenceImage, etcdImage, operatorNamespace },
  })
}
