import { inheritedEnvironment } from '../../lib/bounded-node.ts'
import type { Env } from '../../lib/env.ts'

/** What says how the program runs, beside what each process for strangers' input gets. */
const OF_THE_PROGRAM = [
  'UV_THREADPOOL_SIZE',
  'XDG_CACHE_HOME',
  'NODE_USE_ENV_PROXY',
  'QUARRY_COMMAND',
]
/** The way to models and images on the Internet. */
const PROXIES = ['http_proxy', 'https_proxy', 'no_proxy', 'HTTP_PROXY', 'HTTPS_PROXY', 'NO_PROXY']

/** Its options, by their names, since to load the server itself takes long (a test compares both). */
const OPTION = /^QUARRY_(?:INFERENCE_\w+|MODELS_DIR|LOG_LEVEL|GIT_COMMIT)$/
const NAMES: ReadonlySet<string> = new Set([...OF_THE_PROGRAM, ...PROXIES])

/** The environment of an inference server that a store starts: its own options, and none of the store's secrets. */
export function ownInferenceEnvironment(env: Env): Env {
  const own = Object.entries(env).filter(([name]) => OPTION.test(name) || NAMES.has(name))
  return { ...inheritedEnvironment(env), ...Object.fromEntries(own) }
}
