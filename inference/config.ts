import type { Env } from '../lib/env.ts'
import { REQUEST_MEMORY_BYTES_MIN, defaultRequestMemoryBytes } from '../lib/http/request-memory.ts'
import { origins, serverUrls } from '../lib/http/origin-options.ts'
import { LOG_LEVELS } from '../lib/log.ts'
import { machineMemoryBytes } from '../lib/machine-memory.ts'
import { choice, flag, integer, list, port, readOptions, text } from '../lib/options.ts'
import type { ConfigOf, Flags, OptionTable } from '../lib/options.ts'
import { parseConfigFile } from '../lib/process/config-file.ts'
import type { ConfigFile } from '../lib/process/config-file.ts'
import { ISOLATIONS } from './runtime/worker-channel.ts'

const MIB = 1024 * 1024
const GIB = 1024 * MIB
const MINUTE_MS = 60_000
const DAY_MS = 24 * 60 * MINUTE_MS
const COUNT_MAX = 1_000_000
/** The JavaScript engine reserves 600 MiB at its start and never touches most of it. */
export const WORKER_MEMORY_BYTES_MIN = GIB

/** Means any public host. */
const ANY_HOST = '*'

const PLACE = {
  port: {
    variable: 'QUARRY_INFERENCE_PORT',
    flag: '<port>',
    value: port(11_433),
    help: 'port of the API; 0 takes a free one',
  },
  healthPort: {
    variable: 'QUARRY_INFERENCE_HEALTH_PORT',
    flag: '<port>',
    value: port(4201),
    help: 'port of health and metrics; 0 takes a free one',
  },
  healthHost: {
    variable: 'QUARRY_INFERENCE_HEALTH_HOST',
    flag: '<address>',
    value: text(''),
    defaultText: 'the address of the API',
    help: 'address to listen on for health and metrics, for probes from elsewhere',
  },
  host: {
    variable: 'QUARRY_INFERENCE_HOST',
    flag: '<address>',
    value: text('127.0.0.1'),
    help: 'address to listen on',
  },
  modelsDir: {
    variable: 'QUARRY_MODELS_DIR',
    flag: '<dir>',
    value: text('./models'),
    help: 'the directory of the models',
  },
  preload: {
    variable: 'QUARRY_INFERENCE_PRELOAD',
    flag: '<models>',
    value: list(),
    help: 'models to load at the start and keep loaded, separated by commas; the server is ready after that',
  },
  insecure: {
    variable: 'QUARRY_INFERENCE_INSECURE',
    flag: '',
    value: flag(),
    help: 'listen beyond this machine although the server does not authenticate its clients',
  },
  corsOrigins: {
    variable: 'QUARRY_INFERENCE_CORS_ORIGINS',
    flag: '<origins>',
    value: origins(),
    help: 'pages of these origins may use the API from browsers, separated by commas; * allows all',
  },
  publicUrls: {
    variable: 'QUARRY_INFERENCE_PUBLIC_URLS',
    flag: '<urls>',
    value: serverUrls(),
    help: 'the URLs by which browsers reach the server, behind a proxy or by a name of its own',
  },
  logLevel: {
    variable: 'QUARRY_LOG_LEVEL',
    flag: '<level>',
    value: choice(LOG_LEVELS, 'info'),
    help: LOG_LEVELS.join(', '),
  },
} as const satisfies OptionTable

const WORK = {
  workers: {
    variable: 'QUARRY_INFERENCE_WORKERS',
    flag: '<count>',
    value: integer({ default: 0, min: 0, max: 64 }),
    help: 'workers that run graphs; 0: as many as there are cores, up to 8',
  },
  isolation: {
    variable: 'QUARRY_INFERENCE_ISOLATION',
    flag: '<kind>',
    value: choice(ISOLATIONS, 'process'),
    help: 'the kind of worker: process, or thread, which is faster but trusts every model',
  },
  threadsPerWorker: {
    variable: 'QUARRY_INFERENCE_THREADS_PER_WORKER',
    value: integer({ default: 0, min: 0, max: 64 }),
    help: 'cores that one run may use; 0: all of them for models over 256 MiB, else 1',
  },
  workerMemoryBytesMax: {
    variable: 'QUARRY_INFERENCE_WORKER_MEMORY_BYTES_MAX',
    value: integer({ default: 0, min: WORKER_MEMORY_BYTES_MIN, orZero: true }),
    help: "the memory limit of a worker process; 0: three quarters of the machine's memory",
  },
  exactRows: {
    variable: 'QUARRY_INFERENCE_EXACT_ROWS',
    value: flag(),
    help: 'run one row at a time in models that quantize while they run; otherwise rows share runs and change each other a little',
  },
  batchTokensMax: {
    variable: 'QUARRY_INFERENCE_BATCH_TOKENS_MAX',
    value: integer({ default: 16_384, min: 1, max: COUNT_MAX }),
    help: 'the most tokens of a batch; batches have at most 512 until they take a few milliseconds only',
  },
  batchItemsMax: {
    variable: 'QUARRY_INFERENCE_BATCH_ITEMS_MAX',
    value: integer({ default: 512, min: 1, max: 1024 }),
    help: 'the most items of a batch; batches have at most 16 until they take a few milliseconds only',
  },
  keepAliveMs: {
    variable: 'QUARRY_INFERENCE_KEEP_ALIVE_MS',
    value: integer({ default: 5 * MINUTE_MS, min: 0, max: 365 * DAY_MS }),
    help: 'the time that an unused model stays loaded',
  },
  callTimeoutMs: {
    variable: 'QUARRY_INFERENCE_CALL_TIMEOUT_MS',
    value: integer({ default: 2 * MINUTE_MS, min: 100, max: DAY_MS }),
    help: 'the time limit of a load and of each step of a run; a longer one ends its worker',
  },
} as const satisfies OptionTable

const LIMITS = {
  loadedModelsMax: {
    variable: 'QUARRY_INFERENCE_LOADED_MODELS_MAX',
    value: integer({ default: 8, min: 1, max: 1000 }),
    help: 'the most models that are loaded at a time',
  },
  memoryBytesMax: {
    variable: 'QUARRY_INFERENCE_MEMORY_BYTES_MAX',
    value: integer({ default: 4 * GIB, min: 1 }),
    help: 'the most memory of all loaded models',
  },
  requestsRunningMax: {
    variable: 'QUARRY_INFERENCE_REQUESTS_RUNNING_MAX',
    value: integer({ default: 64, min: 1, max: COUNT_MAX }),
    help: 'the most requests that are served at a time',
  },
  requestsWaitingMax: {
    variable: 'QUARRY_INFERENCE_REQUESTS_WAITING_MAX',
    value: integer({ default: 448, min: 0, max: COUNT_MAX }),
    help: 'the most requests that wait; further ones get 503',
  },
  requestTimeoutMs: {
    variable: 'QUARRY_INFERENCE_REQUEST_TIMEOUT_MS',
    value: integer({ default: 9 * MINUTE_MS, min: 1, max: DAY_MS }),
    help: 'the time limit of a request',
  },
  drainDeadlineMs: {
    variable: 'QUARRY_INFERENCE_DRAIN_DEADLINE_MS',
    value: integer({ default: MINUTE_MS / 2, min: 0, max: DAY_MS }),
    help: 'the time that running requests get when the server stops',
  },
  cacheBytesMax: {
    variable: 'QUARRY_INFERENCE_CACHE_BYTES_MAX',
    value: integer({ default: 64 * MIB, min: 1 }),
    help: 'the most bytes of cached results, for each task',
  },
  bodyBytesMax: {
    variable: 'QUARRY_INFERENCE_BODY_BYTES_MAX',
    value: integer({ default: 32 * MIB, min: 1 }),
    help: 'the largest body of a request',
  },
  requestMemoryBytesMax: {
    variable: 'QUARRY_INFERENCE_REQUEST_MEMORY_BYTES_MAX',
    value: integer({
      default: defaultRequestMemoryBytes(machineMemoryBytes()),
      min: REQUEST_MEMORY_BYTES_MIN,
    }),
    defaultText: "a quarter of the machine's memory, 1 GiB at most",
    help: 'the most memory of all requests together, for bodies, images and results',
  },
  mediaHosts: {
    variable: 'QUARRY_INFERENCE_MEDIA_HOSTS',
    value: list(),
    defaultText: ANY_HOST,
    help: 'the hosts from which images may be downloaded, separated by commas; *: any public one',
  },
  gitCommit: {
    variable: 'QUARRY_GIT_COMMIT',
    value: text(''),
    help: 'the source revision that /api/version reports; an image knows its own',
  },
} as const satisfies OptionTable

/** The options of `quarry inference`. */
export const INFERENCE_OPTIONS = { ...PLACE, ...WORK, ...LIMITS } as const satisfies OptionTable

/** The parsed options of the inference server. */
export type InferenceConfig = ConfigOf<typeof INFERENCE_OPTIONS>

/** Further sources of options. */
export interface InferenceSources {
  readonly file?: ConfigFile | undefined
  /** Flags that a command names differently, by their option, for error messages. */
  readonly names?: Readonly<Record<string, string>>
}

/** Flags override the environment, which overrides the file. Throws a ConfigurationError. */
export function parseInferenceConfig(
  env: Env,
  flags: Flags = {},
  { file, names = {} }: InferenceSources = {},
): InferenceConfig {
  const settings = file === undefined ? undefined : parseConfigFile(file, INFERENCE_OPTIONS)
  const config = readOptions(INFERENCE_OPTIONS, { env, flags, file: settings, names })
  return { ...config, mediaHosts: config.mediaHosts.filter((host) => host !== ANY_HOST) }
}
