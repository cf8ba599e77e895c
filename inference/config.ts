import { totalmem } from 'node:os'
import { EnvReader, optionName, type Env, type Flags } from '../lib/env.ts'
import { REQUEST_MEMORY_BYTES_MIN, defaultRequestMemoryBytes } from '../lib/http/request-memory.ts'
import { LOG_LEVELS, type LogLevel } from '../lib/log.ts'
import { ISOLATIONS, type Isolation } from './runtime/worker-channel.ts'

export interface InferenceConfig {
  readonly host: string
  /** 0 lets the system choose a free port. */
  readonly port: number
  readonly healthPort: number
  readonly modelsDir: string
  /** Allows a host beyond loopback although nobody has to authenticate. */
  readonly insecure: boolean
  readonly logLevel: LogLevel
  /** 0: as many as there are cores, up to 8. */
  readonly workers: number
  /** Cores that one run may use; 0: all of them for large models, one for others. */
  readonly threadsPerWorker: number
  readonly isolation: Isolation
  /** Models that quantize activations while they run take one row at a time. */
  readonly exactRows: boolean
  /** What a worker process may allocate; 0: three quarters of what the machine or container has. */
  readonly workerMemoryBytesMax: number
  readonly keepAliveMs: number
  readonly loadedModelsMax: number
  readonly memoryBytesMax: number
  readonly requestsRunningMax: number
  readonly requestsWaitingMax: number
  readonly requestTimeoutMs: number
  /** A load or a single step of a run that takes longer ends its worker. */
  readonly callTimeoutMs: number
  readonly drainDeadlineMs: number
  readonly cacheBytesMax: number
  readonly bodyBytesMax: number
  /** What all requests under way may hold together: bodies, images and results. */
  readonly requestMemoryBytesMax: number
  /** Padded tokens of a batch. */
  readonly batchTokensMax: number
  readonly batchItemsMax: number
  /** Models that are loaded from the start, by name. */
  readonly preload: readonly string[]
  /** Hosts that images may come from; empty: any public one. */
  readonly mediaHosts: readonly string[]
  /** Of the source revision; images are built with it. Undefined: nobody told. */
  readonly gitCommit: string | undefined
}

const MIB = 1024 * 1024
const GIB = 1024 * MIB
const MINUTE_MS = 60_000
const DAY_MS = 24 * 60 * MINUTE_MS
const COUNT_MAX = 1_000_000
/** The JavaScript engine reserves 600 MiB of it at its start, most of which it never touches. */
export const WORKER_MEMORY_BYTES_MIN = GIB

/** Flags of the command line, by the name of their variable. */
const VARIABLE_BY_FLAG: Readonly<Record<string, string>> = {
  host: 'QUARRY_INFERENCE_HOST',
  port: 'QUARRY_INFERENCE_PORT',
  healthPort: 'QUARRY_INFERENCE_HEALTH_PORT',
  modelsDir: 'QUARRY_MODELS_DIR',
  insecure: 'QUARRY_INFERENCE_INSECURE',
  logLevel: 'QUARRY_LOG_LEVEL',
  workers: 'QUARRY_INFERENCE_WORKERS',
  isolation: 'QUARRY_INFERENCE_ISOLATION',
  preload: 'QUARRY_INFERENCE_PRELOAD',
}

/**
 * Reads flags and environment; flags win. Throws one Error that lists every problem at once, a flag's
 * by its name: `names` has those that a command calls otherwise.
 */
export function parseInferenceConfig(
  env: Env,
  flags: Flags = {},
  names: Readonly<Record<string, string>> = {},
): InferenceConfig {
  const given = Object.entries(VARIABLE_BY_FLAG).flatMap(([flag, name]) => {
    const value = flags[flag]
    if (value === undefined) return []
    return [{ name, value: String(value), place: names[flag] ?? optionName(flag) }]
  })
  const values = Object.fromEntries(given.map(({ name, value }) => [name, value]))
  const places = Object.fromEntries(given.map(({ name, place }) => [name, place]))
  const read = new EnvReader({ ...env, ...values }, places)
  const config = { ...parsePlace(read), ...parseWork(read), ...parseLimits(read) }
  const { workerMemoryBytesMax } = config
  read.check(
    workerMemoryBytesMax === 0 || workerMemoryBytesMax >= WORKER_MEMORY_BYTES_MIN,
    `QUARRY_INFERENCE_WORKER_MEMORY_BYTES_MAX: a worker needs ${WORKER_MEMORY_BYTES_MIN} before it loads anything`,
  )
  return read.done(config)
}

function parsePlace(read: EnvReader) {
  return {
    host: read.text('QUARRY_INFERENCE_HOST', '127.0.0.1'),
    port: read.port('QUARRY_INFERENCE_PORT', 11_433),
    healthPort: read.port('QUARRY_INFERENCE_HEALTH_PORT', 4201),
    modelsDir: read.text('QUARRY_MODELS_DIR', './models'),
    insecure: read.flag('QUARRY_INFERENCE_INSECURE'),
    logLevel: read.choice('QUARRY_LOG_LEVEL', LOG_LEVELS, 'info'),
    gitCommit: read.optionalText('QUARRY_GIT_COMMIT'),
    preload: read.list('QUARRY_INFERENCE_PRELOAD'),
    // `*` stands for any public host.
    mediaHosts: read.list('QUARRY_INFERENCE_MEDIA_HOSTS').filter((host) => host !== '*'),
  }
}

function parseWork(read: EnvReader) {
  return {
    workers: read.integer('QUARRY_INFERENCE_WORKERS', { default: 0, min: 0, max: 64 }),
    threadsPerWorker: read.integer('QUARRY_INFERENCE_THREADS_PER_WORKER', {
      default: 0,
      min: 0,
      max: 64,
    }),
    workerMemoryBytesMax: read.integer('QUARRY_INFERENCE_WORKER_MEMORY_BYTES_MAX', {
      default: 0,
      min: 0,
      max: Number.MAX_SAFE_INTEGER,
    }),
    exactRows: read.flag('QUARRY_INFERENCE_EXACT_ROWS'),
    isolation: read.choice('QUARRY_INFERENCE_ISOLATION', ISOLATIONS, 'process'),
    batchTokensMax: read.integer('QUARRY_INFERENCE_BATCH_TOKENS_MAX', {
      default: 512,
      min: 1,
      max: COUNT_MAX,
    }),
    batchItemsMax: read.integer('QUARRY_INFERENCE_BATCH_ITEMS_MAX', {
      default: 16,
      min: 1,
      max: 1024,
    }),
    keepAliveMs: read.integer('QUARRY_INFERENCE_KEEP_ALIVE_MS', {
      default: 5 * MINUTE_MS,
      min: 0,
      max: 365 * DAY_MS,
    }),
    callTimeoutMs: read.integer('QUARRY_INFERENCE_CALL_TIMEOUT_MS', {
      default: 2 * MINUTE_MS,
      min: 100,
      max: DAY_MS,
    }),
  }
}

function parseLimits(read: EnvReader) {
  const bytes = { min: 1, max: Number.MAX_SAFE_INTEGER }
  const count = { min: 0, max: COUNT_MAX }
  return {
    loadedModelsMax: read.integer('QUARRY_INFERENCE_LOADED_MODELS_MAX', {
      default: 8,
      min: 1,
      max: 1000,
    }),
    memoryBytesMax: read.integer('QUARRY_INFERENCE_MEMORY_BYTES_MAX', {
      default: 4 * GIB,
      ...bytes,
    }),
    requestsRunningMax: read.integer('QUARRY_INFERENCE_REQUESTS_RUNNING_MAX', {
      default: 64,
      min: 1,
      max: COUNT_MAX,
    }),
    requestsWaitingMax: read.integer('QUARRY_INFERENCE_REQUESTS_WAITING_MAX', {
      default: 448,
      ...count,
    }),
    requestTimeoutMs: read.integer('QUARRY_INFERENCE_REQUEST_TIMEOUT_MS', {
      default: 9 * MINUTE_MS,
      min: 1,
      max: DAY_MS,
    }),
    drainDeadlineMs: read.integer('QUARRY_INFERENCE_DRAIN_DEADLINE_MS', {
      default: MINUTE_MS / 2,
      min: 0,
      max: DAY_MS,
    }),
    cacheBytesMax: read.integer('QUARRY_INFERENCE_CACHE_BYTES_MAX', {
      default: 64 * MIB,
      ...bytes,
    }),
    bodyBytesMax: read.integer('QUARRY_INFERENCE_BODY_BYTES_MAX', { default: 32 * MIB, ...bytes }),
    requestMemoryBytesMax: read.integer('QUARRY_INFERENCE_REQUEST_MEMORY_BYTES_MAX', {
      default: defaultRequestMemoryBytes(totalmem()),
      min: REQUEST_MEMORY_BYTES_MIN,
      max: Number.MAX_SAFE_INTEGER,
    }),
  }
}
