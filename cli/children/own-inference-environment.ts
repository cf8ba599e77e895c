import { INFERENCE_OPTIONS } from '../../inference/config.ts'
import { inheritedEnvironment } from '../../lib/bounded-node.ts'
import type { Env } from '../../lib/env.ts'

/** What says how the program runs, beside what each process for strangers' input gets. */
const OF_THE_PROGRAM = ['UV_THREADPOOL_SIZE', 'XDG_CACHE_HOME', 'NODE_USE_ENV_PROXY']
/** The way to models and images on the Internet. */
const PROXIES = ['http_proxy', 'https_proxy', 'no_proxy', 'HTTP_PROXY', 'HTTPS_PROXY', 'NO_PROXY']

const NAMES: ReadonlySet<string> = new Set([
  ...Object.values(INFERENCE_OPTIONS).map(({ variable }) => variable),
  ...OF_THE_PROGRAM,
  ...PROXIES,
])

/** The environment of an inference server that a store starts: its own options, and none of the store's secrets. */
export function ownInferenceEnvironment(env: Env): Env {
  const own = Object.entries(env).filter(([name]) => NAMES.has(name))
  return { ...inheritedEnvironment(env), ...Object.fromEntries(own) }
}
