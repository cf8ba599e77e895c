import { parse } from 'yaml'
import { EnvReader, type Env, type Flags } from '../lib/env.ts'
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
]

const MIB = 1024 * 1024

/**
 * Reads flags, environment and the text of a YAML or JSON file. Throws one Error that lists every
 * problem at once.
 */
export function parseNodeConfig(env: Env, flags: Flags = {}, file?: string): NodeConfig {
  const problems: string[] = []
  const values = mergeSources(env, flags, parseFile(file, problems))
  const read = new EnvReader(values)
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
  })
}

function mergeSources(env: Env, flags: Flags, file: Readonly<Record<string, string>>): Env {
  return Object.fromEntries(
    SETTINGS.map(({ flag, env: name, key }) => {
      const given = flags[flag]
      return [name, given === undefined ? (env[name] ?? file[key]) : String(given)]
    }),
  )
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
