// Builds the inference server in order. This file is its diagram.
//
//   model directories ─► workers ─► fleet ─► services of the tasks ─► HTTP

import { availableParallelism } from 'node:os'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { systemClock } from '../lib/clock.ts'
import { startHealthServer } from '../lib/http/health-server.ts'
import { RequestMemory } from '../lib/http/request-memory.ts'
import { Lifecycle } from '../lib/lifecycle.ts'
import type { Log } from '../lib/log.ts'
import { machineMemoryBytes } from '../lib/machine-memory.ts'
import type { NetworkView } from '../lib/media/host-policy.ts'
import { Descriptors } from '../lib/process/descriptors.ts'
import { processMetrics } from '../lib/process/process-metrics.ts'
import { readProduct } from '../lib/process/product.ts'
import { endProcess, openServerLog, loggedEnd } from '../lib/process/server-process.ts'
import { InferenceMetrics } from './api/metrics.ts'
import { readinessReply } from './api/readiness-reply.ts'
import { startApiServer, type DoorChoices } from './api/server/api-server.ts'
import { RequestGate } from './batching/request-gate.ts'
import { WORKER_MEMORY_BYTES_MIN } from './config.ts'
import type { InferenceConfig } from './config.ts'
import { MediaReader } from './media/media-reader.ts'
import { MEDIA_LIMITS_DEFAULT } from './media/media-limits.ts'
import { scanModels } from './models/model-catalog.ts'
import type { ModelCatalog } from './models/model-catalog.ts'
import { defaultWorkerCount } from './fleet/default-worker-count.ts'
import { ModelFleet } from './fleet/model-fleet.ts'
import { MODEL_KINDS } from './models/model-spec.ts'
import { BuiltinThread } from './pipelines/builtin/builtin-thread.ts'
import { ChunkService, FIXED_ALIASES } from './pipelines/chunk/chunk-service.ts'
import { BUILTIN_HASH_NAME } from './pipelines/builtin/builtin-hash.ts'
import { EmbedService } from './pipelines/embed/embed-service.ts'
import { GenerateService } from './pipelines/generate/generate-service.ts'
import { InferenceService, noSuchModel } from './service/inference-service.ts'
import type { PreloadedModel, VersionInfo } from './service/inference-service.ts'
import type { ServiceParts } from './pipelines/model-requests.ts'
import { RecognizeService } from './pipelines/recognize/recognize-service.ts'
import { RerankService } from './pipelines/rerank/rerank-service.ts'
import { RewriteService } from './pipelines/rewrite/rewrite-service.ts'
import { ModelWorker } from './runtime/model-worker.ts'
import { assertOnnxInstalled } from './runtime/onnx-installed.ts'

const WORKER_ENTRY = new URL('./service/model-worker-entry.ts', import.meta.url)
/** The time for running calls of workers, after all other parts have closed. */
const WORKER_CLOSE_DEADLINE_MS = 5_000

/** A running server. */
export interface RunningInference extends AsyncDisposable {
  readonly apiUrl: string
  readonly healthUrl: string
  /** The directory of the models, as an absolute path. */
  readonly modelsDir: string
  /** For tests: the workers and what they have loaded. */
  readonly fleet: ModelFleet
  /** Stops the server. Running requests may end within the deadline. `reason` is for the log. */
  close(reason?: string): Promise<void>
}

/** Parts that tests replace: the access to the Internet, the log, and the door's choices. */
export interface InferenceOverrides {
  readonly network?: NetworkView
  readonly log?: Log
  readonly door?: DoorChoices
}

/** Resolves when the server serves requests. A failed start closes all parts and rejects. */
export function startInference(
  config: InferenceConfig,
  overrides: InferenceOverrides = {},
): Promise<RunningInference> {
  return Lifecycle.build((life) => buildInference(config, overrides, life))
}

async function buildInference(
  config: InferenceConfig,
  { log = openServerLog(config.logLevel, 'inference'), door = {}, ...network }: InferenceOverrides,
  life: Lifecycle,
): Promise<RunningInference> {
  assertOnnxInstalled()
  const clock = systemClock
  const { modelsDir, logLevel } = config
  const { version } = readProduct()
  const start = { version, node: process.version, modelsDir: path.resolve(modelsDir), logLevel }
  log.info('server starts', start)
  const metrics = new InferenceMetrics()
  metrics.addLines(processMetrics())
  const catalog = await scanModels(config.modelsDir, log, BUILT_IN)

  const fleet = buildFleet(config, metrics, log)
  life.onClose(() => fleet.close())
  const thread = new BuiltinThread()
  life.onClose(() => thread.close())

  const service = buildService(config, { catalog, fleet, thread, metrics, log, ...network })
  const gate = new RequestGate({
    runningMax: config.requestsRunningMax,
    waitingMax: config.requestsWaitingMax,
  })
  const memory = new RequestMemory({ bytesMax: config.requestMemoryBytesMax, clock })
  registerGauges(metrics, { gate, memory, fleet })
  const { host, healthHost } = config
  const health = await startHealthServer({
    host: healthHost === '' ? host : healthHost,
    port: config.healthPort,
    clock,
    random: Math.random,
    readiness: () => readinessReply(service.readiness()),
    metrics,
    product: versionInfo(config),
  })
  life.onClose(() => health.close())
  const api = await startApiServer({
    ...door,
    service,
    host,
    port: config.port,
    insecure: config.insecure,
    corsOrigins: config.corsOrigins,
    publicUrls: config.publicUrls,
    bodyBytesMax: config.bodyBytesMax,
    requestTimeoutMs: config.requestTimeoutMs,
    closeDeadlineMs: config.drainDeadlineMs,
    gate,
    memory,
    metrics,
    clock,
    log,
    logsRequests: () => logLevel === 'debug',
    connectionsMax: new Descriptors().connectionsMax,
    random: Math.random,
    onInvariantBroken: (error) => endProcess(log, error),
  })
  life.onClose(() => api.close())
  life.onClose(() => service.beginStopping())
  log.info('server serves', { api: api.url, health: health.url })
  const close = loggedEnd({ log, clock, life })
  const places = {
    apiUrl: api.url,
    healthUrl: health.url,
    modelsDir: path.resolve(config.modelsDir),
  }
  return { ...places, fleet, close, [Symbol.asyncDispose]: () => close() }
}

interface BuiltParts {
  readonly catalog: ModelCatalog
  readonly fleet: ModelFleet
  readonly thread: BuiltinThread
  readonly metrics: InferenceMetrics
  readonly log: Log
  readonly network?: NetworkView
}

function buildService(config: InferenceConfig, built: BuiltParts): InferenceService {
  const { catalog, fleet, thread, metrics, log, ...network } = built
  const clock = systemClock
  let requests = 0
  const parts: ServiceParts = {
    catalog,
    fleet,
    clock,
    cacheBytesMax: config.cacheBytesMax,
    onSource: (task, source) => metrics.result(task, source),
    onTokens: (model, counts) => metrics.tokens(model, counts),
    nextRequestId: () => ++requests,
  }
  const limits = { ...MEDIA_LIMITS_DEFAULT, allowedHosts: config.mediaHosts }
  return new InferenceService({
    catalog,
    fleet,
    version: versionInfo(config),
    preloaded: preload(config, { catalog, fleet, log }),
    embed: new EmbedService(parts, new MediaReader({ limits, clock, ...network }), thread),
    chunk: new ChunkService(parts, thread, log),
    rerank: new RerankService(parts),
    generate: new GenerateService(parts),
    recognize: new RecognizeService(parts),
    rewrite: new RewriteService(parts),
  })
}

function buildFleet(config: InferenceConfig, metrics: InferenceMetrics, log: Log): ModelFleet {
  const threadSettings = { threads: config.threadsPerWorker, cores: availableParallelism() }
  return new ModelFleet({
    workerCount: config.workers === 0 ? defaultWorkerCount() : config.workers,
    batchLimits: { tokensMax: config.batchTokensMax, itemsMax: config.batchItemsMax },
    threadSettings,
    memoryLimits: {
      loadedModelsMax: config.loadedModelsMax,
      memoryBytesMax: config.memoryBytesMax,
    },
    keepAliveMs: config.keepAliveMs,
    clock: systemClock,
    log,
    observer: {
      loaded: ({ name }, durationMs) => metrics.loaded(name, durationMs),
      loadFailed: ({ name }) => metrics.loadFailed(name),
      workerEnded: () => metrics.workerEnded(),
      batch: ({ name }, sizes) => metrics.batch(name, sizes),
      batchFailed: ({ name }) => metrics.batchFailed(name),
      waited: (ms) => metrics.waited(ms),
    },
    openWorker: (listener) =>
      new ModelWorker(
        {
          entry: WORKER_ENTRY,
          isolation: config.isolation,
          environment: process.env,
          readable: [config.modelsDir, BUILT_IN.modelsDir],
          settings: { ...threadSettings, exactRows: config.exactRows },
          memoryBytesMax: workerMemory(config),
          callTimeoutMs: config.callTimeoutMs,
          closeDeadlineMs: WORKER_CLOSE_DEADLINE_MS,
          clock: systemClock,
          random: Math.random,
          log,
        },
        listener,
      ),
  })
}

/** The built-in models are always available. */
const BUILT_IN = {
  names: { embedder: new Set([BUILTIN_HASH_NAME]), chunker: FIXED_ALIASES },
  modelsDir: fileURLToPath(new URL('./builtin-models', import.meta.url)),
}
/** Names without a model to load. */
const FILELESS_NAMES: ReadonlySet<string> = BUILT_IN.names.embedder.union(BUILT_IN.names.chunker)

function preload(
  config: InferenceConfig,
  { catalog, fleet, log }: Pick<ServiceParts, 'catalog' | 'fleet'> & { readonly log: Log },
): PreloadedModel[] {
  const names = config.preload.filter((name) => !FILELESS_NAMES.has(name))
  return names.map((name) => {
    const specs = MODEL_KINDS.map((kind) => catalog.find(kind, name)).filter(
      (spec) => spec !== undefined,
    )
    if (specs.length === 0) {
      const reason = noSuchModel(catalog)
      log.error('model to preload does not exist', { model: name, reason })
    }
    for (const spec of specs) fleet.pin(spec)
    return { name, specs }
  })
}

/** The rest is for the server and other programs of the machine. */
const WORKER_MEMORY_RATIO = 0.75

function workerMemory({ workerMemoryBytesMax }: InferenceConfig): number {
  if (workerMemoryBytesMax > 0) return workerMemoryBytesMax
  return Math.max(WORKER_MEMORY_BYTES_MIN, Math.floor(machineMemoryBytes() * WORKER_MEMORY_RATIO))
}

interface Watched {
  readonly gate: RequestGate
  readonly memory: RequestMemory
  readonly fleet: ModelFleet
}

function registerGauges(metrics: InferenceMetrics, { gate, memory, fleet }: Watched): void {
  const held = 'Bytes that running requests hold: bodies, images and results.'
  metrics.registerGauge('request_memory_bytes', held, () => memory.heldBytes)
  const most = 'The limit of the bytes that all requests may hold.'
  metrics.registerGauge('request_memory_limit_bytes', most, () => memory.bytesMax)
  metrics.registerGauge('requests_running', 'Requests that are being served.', () => gate.running)
  metrics.registerGauge('requests_waiting', 'Requests that wait for a place.', () => gate.waiting)
  const rejected = 'Requests refused because too many waited.'
  metrics.registerCounter('requests_rejected_total', rejected, () => gate.rejected)
  metrics.registerGauge('queued_items', 'Items that wait for a worker.', () => fleet.queuedItems)
  metrics.registerGauge('workers_up', 'Workers that take batches.', () => fleet.workersUp)
  metrics.registerGauge('loaded_models', 'Models in memory.', () => fleet.loadedModels().length)
}

function versionInfo({ gitCommit }: InferenceConfig): VersionInfo {
  const product = readProduct()
  const { version } = product
  const buildTime = product.installedAt.toISOString()
  const known = gitCommit === '' ? product.gitCommit : gitCommit
  return { version, gitCommit: known, buildTime, runtimeVersion: process.version }
}
