import { totalmem } from 'node:os'
import { parse } from 'yaml'
import { EnvReader, optionName, type Env, type Flags } from '../lib/env.ts'
import { defaultRequestMemoryBytes, REQUEST_MEMORY_BYTES_MIN } from '../lib/http/request-memory.ts'
import { LOG_LEVELS, type LogLevel } from '../lib/log.ts'

export interface NodeConfig {
  readonly dataDir: string
  readonly host: string
  /** 0 lets the system choose a free port. */
  readonly apiPort: number
  readonly healthPort: number
  /** Allows a host beyond loopback although nobody has to authenticate. */
  readonly insecure: boolean
  readonly logLevel: LogLevel
  /** Writes are refused when less than this is free on the disk, so that it never is quite full. */
  readonly diskReserveBytes: number
  /** What text indexes keep in memory of what they hold on disk or have not written yet. */
  readonly textMemoryBytes: number
  /** Bodies on their way and large answers, of all requests together. */
  readonly requestMemoryBytes: number
  /** A worker of text indexes that makes no progress for longer is ended and started again. */
  readonly textWorkerHangMs: number
  /** A process whose event loop hangs for so long is ended; 0: it never is. */
  readonly loopHangMs: number
}

/** Where each setting comes from: the flag wins over the variable, that over the file. */
const SETTINGS: readonly { readonly flag: string; readonly env: string; readonly key: string }[] = [
  { flag: 'dataDir', env: 'QUARRY_DATA_DIR', key: 'data_dir' },
  { flag: 'host', env: 'QUARRY_HOST', key: 'host' },
  { flag: 'apiPort', env: 'QUARRY_API_PORT', key: 'api_port' },
  { flag: 'healthPort', env: 'QUARRY_HEALTH_PORT', key: 'health_port' },
  { flag: 'insecure', env: 'QUARRY_INSECURE', key: 'insecure' },
  { flag: 'logLevel', env: 'QUARRY_LOG_LEVEL', key: 'log_level' },
  { flag: 'diskReserveBytes', env: 'QUARRY_DISK_RESERVE_BYTES', key: 'disk_reserve_bytes' },
  { flag: 'textMemoryBytes', env: 'QUARRY_TEXT_MEMORY_BYTES', key: 'text_memory_bytes' },
  {
    flag: 'requestMemoryBytes',
    env: 'QUARRY_REQUEST_MEMORY_BYTES',
    key: 'request_memory_bytes',
  },
  { flag: 'textWorkerHangMs', env: 'QUARRY_TEXT_WORKER_HANG_MS', key: 'text_worker_hang_ms' },
  { flag: 'loopHangMs', env: 'QUARRY_LOOP_HANG_MS', key: 'loop_hang_ms' },
]

const MIB = 1024 * 1024
const DAY_MS = 86_400_000

/**
 * Reads flags, environment and the text of a YAML or JSON file. Throws one Error that lists every
 * problem at once.
 */
export function parseNodeConfig(env: Env, flags: Flags = {}, file?: string): NodeConfig {
  const problems: string[] = []
  const { values, places } = mergeSources(env, flags, parseFile(file, problems))
  const read = new EnvReader(values, places)
  for (const problem of problems) read.check(false, problem)
  return read.done({
    dataDir: read.text('QUARRY_DATA_DIR', './data'),
    host: read.text('QUARRY_HOST', '127.0.0.1'),
    apiPort: read.port('QUARRY_API_PORT', 8080),
    healthPort: read.port('QUARRY_HEALTH_PORT', 4200),
    insecure: read.flag('QUARRY_INSECURE'),
    logLevel: read.choice('QUARRY_LOG_LEVEL', LOG_LEVELS, 'info'),
    diskReserveBytes: read.integer('QUARRY_DISK_RESERVE_BYTES', {
      default: 64 * MIB,
      min: 0,
      max: Number.MAX_SAFE_INTEGER,
    }),
    textMemoryBytes: read.integer('QUARRY_TEXT_MEMORY_BYTES', {
      default: 192 * MIB,
      min: 16 * MIB,
      max: Number.MAX_SAFE_INTEGER,
    }),
    requestMemoryBytes: read.integer('QUARRY_REQUEST_MEMORY_BYTES', {
      default: defaultRequestMemoryBytes(totalmem()),
      min: REQUEST_MEMORY_BYTES_MIN,
      max: Number.MAX_SAFE_INTEGER,
    }),
    textWorkerHangMs: read.integer('QUARRY_TEXT_WORKER_HANG_MS', {
      default: 10_000,
      min: 1000,
      max: DAY_MS,
    }),
    loopHangMs: read.integer('QUARRY_LOOP_HANG_MS', { default: 60_000, min: 0, max: DAY_MS }),
  })
}

interface MergedSources {
  readonly values: Env
  /** By variable, where its value came from if not from there. */
  readonly places: Readonly<Record<string, string>>
}

function mergeSources(
  env: Env,
  flags: Flags,
  file: Readonly<Record<string, string>>,
): MergedSources {
  const values: Record<string, string | undefined> = {}
  const places: Record<string, string> = {}
  for (const { flag, env: name, key } of SETTINGS) {
    const given = flags[flag]
    values[name] = given === undefined ? (env[name] ?? file[key]) : String(given)
    if (given !== undefined) places[name] = optionName(flag)
    else if (env[name] === undefined && file[key] !== undefined) {
      places[name] = `${key} in the configuration file`
    }
  }
  return { values, places }
}

function parseFile(text: string | undefined, problems: string[]): Readonly<Record<string, string>> {
  if (text === undefined) return {}
  const content = parseYaml(text, problems)
  if (content === null || content === undefined) return {}
  if (typeof content !== 'object' || Array.isArray(content)) {
    problems.push('the configuration file must hold a mapping of settings')
    return {}
  }
  const known = new Set(SETTINGS.map(({ key }) => key))
  const settings: [string, string][] = []
  for (const [key, value] of Object.entries(content)) {
    if (!known.has(key)) {
      problems.push(`${key}: unknown setting; known are ${[...known].join(', ')}`)
    } else if (typeof value === 'object') {
      problems.push(`${key}: must be a single value`)
    } else {
      settings.push([key, String(value)])
    }
  }
  return Object.fromEntries(settings)
}

function parseYaml(text: string, problems: string[]): unknown {
  try {
    return parse(text)
  } catch (error) {
    problems.push(`the configuration file is not YAML: ${String(error)}`)
    return undefined
  }
}
