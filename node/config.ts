import type { Env } from '../lib/env.ts'
import { defaultRequestMemoryBytes, REQUEST_MEMORY_BYTES_MIN } from '../lib/http/request-memory.ts'
import { origins, serverUrls } from '../lib/http/origin-options.ts'
import { LOG_LEVELS } from '../lib/log.ts'
import { machineMemoryBytes } from '../lib/machine-memory.ts'
import { choice, flag, integer, port, readOptions, text } from '../lib/options.ts'
import type { ConfigOf, Flags, OptionTable } from '../lib/options.ts'
import { parseConfigFile } from '../lib/process/config-file.ts'
import type { ConfigFile } from '../lib/process/config-file.ts'
import {
  defaultIndexMemoryBytes,
  INDEX_MEMORY_BYTES_MIN,
} from './index/host/default-index-memory.ts'
import { MEDIA_OPTIONS, mediaSettingsOf } from './media/media-options.ts'
import type { MediaSurroundings } from './media/open-media.ts'
import type { KeySeal } from './providers/access/key-seal.ts'
import type { OwnInferenceUrl, ProviderSurroundings } from './providers/access/provider-access.ts'
import { PROVIDER_OPTIONS, providerSurroundings } from './providers/provider-options.ts'

const MIB = 1024 * 1024
const DAY_MS = 86_400_000

/** The options of `quarry swarm`. */
export const SWARM_OPTIONS = {
  dataDir: {
    variable: 'QUARRY_DATA_DIR',
    flag: '<dir>',
    value: text('./data'),
    help: 'where the data lives',
  },
  host: {
    variable: 'QUARRY_HOST',
    flag: '<address>',
    value: text('127.0.0.1'),
    help: 'address to listen on',
  },
  apiPort: {
    variable: 'QUARRY_API_PORT',
    flag: '<port>',
    value: port(8080),
    help: 'port of the API; 0 takes a free one',
  },
  healthHost: {
    variable: 'QUARRY_HEALTH_HOST',
    flag: '<address>',
    value: text(''),
    defaultText: 'the address of the API',
    help: 'address to listen on for health and metrics, for probes from elsewhere',
  },
  healthPort: {
    variable: 'QUARRY_HEALTH_PORT',
    flag: '<port>',
    value: port(4200),
    help: 'port of health and metrics; 0 takes a free one',
  },
  insecure: {
    variable: 'QUARRY_INSECURE',
    flag: '',
    value: flag(),
    help: 'listen beyond this machine although nobody is asked who they are',
  },
  corsOrigins: {
    variable: 'QUARRY_CORS_ORIGINS',
    flag: '<origins>',
    value: origins(),
    help: 'pages of these origins may use the API from browsers, separated by commas; * allows all',
  },
  publicUrls: {
    variable: 'QUARRY_PUBLIC_URLS',
    flag: '<urls>',
    value: serverUrls(),
    help: 'the URLs by which browsers reach the server, behind a proxy or by a name of its own',
  },
  ...PROVIDER_OPTIONS,
  ...MEDIA_OPTIONS,
  logLevel: {
    variable: 'QUARRY_LOG_LEVEL',
    flag: '<level>',
    value: choice(LOG_LEVELS, 'info'),
    help: LOG_LEVELS.join(', '),
  },
  diskReserveBytes: {
    variable: 'QUARRY_DISK_RESERVE_BYTES',
    value: integer({ default: 64 * MIB, min: 0 }),
    help: 'writes are refused when less is free on the disk, so that the disk never fills up',
  },
  indexMemoryBytes: {
    variable: 'QUARRY_INDEX_MEMORY_BYTES',
    value: integer({
      default: defaultIndexMemoryBytes(machineMemoryBytes()),
      min: INDEX_MEMORY_BYTES_MIN,
    }),
    defaultText: "an eighth of the machine's memory, 2 GiB at most",
    help: 'memory per kind of index (words, vectors, sparse vectors), for caches and unflushed data',
  },
  requestMemoryBytes: {
    variable: 'QUARRY_REQUEST_MEMORY_BYTES',
    value: integer({
      default: defaultRequestMemoryBytes(machineMemoryBytes()),
      min: REQUEST_MEMORY_BYTES_MIN,
    }),
    defaultText: "a quarter of the machine's memory, 1 GiB at most",
    help: 'memory of all requests: bodies, what is parsed from them, and answers and scans that clients have not read',
  },
  textWorkerHangMs: {
    variable: 'QUARRY_TEXT_WORKER_HANG_MS',
    value: integer({ default: 10_000, min: 1000, max: DAY_MS }),
    help: 'how long a worker of indexes may make no progress before it is started again',
  },
  loopHangMs: {
    variable: 'QUARRY_LOOP_HANG_MS',
    value: integer({ default: 60_000, min: 0, max: DAY_MS }),
    help: 'how long the event loop may hang before the process ends itself; 0: without end',
  },
} as const satisfies OptionTable

export type NodeConfig = ConfigOf<typeof SWARM_OPTIONS>

/** Flags win over the environment, which wins over the file. Throws a ConfigurationError. */
export function parseNodeConfig(env: Env, flags: Flags = {}, file?: ConfigFile): NodeConfig {
  const settings = file === undefined ? undefined : parseConfigFile(file, SWARM_OPTIONS)
  return readOptions(SWARM_OPTIONS, { env, flags, file: settings })
}

/** What models elsewhere are asked with. Configurations may refer to variables of this process. */
export function providersOf(
  config: NodeConfig,
  seal: KeySeal,
  ownInference?: OwnInferenceUrl,
): ProviderSurroundings {
  const surroundings = { ...providerSurroundings(config, process.env), seal }
  return ownInference === undefined ? surroundings : { ...surroundings, ownInference }
}

/** What media are read with. */
export function mediaOf(config: NodeConfig): MediaSurroundings {
  return { settings: mediaSettingsOf(config, process.env), environment: process.env }
}
