// `quarry inference` below a parent of the same program that starts it again: see supervisor.ts.

import { INFERENCE_OPTIONS } from '../../inference/config.ts'
import type { Env } from '../../lib/env.ts'
import { flagName } from '../../lib/options.ts'
import type { Flags } from '../../lib/options.ts'
import { Child } from './child.ts'
import { BIN } from './own-inference-args.ts'
import { readyPlaces } from './ready-line.ts'
import type { SupervisedServer } from './supervisor.ts'

const NAME = 'inference'
const ANSWER_MAX_MS = 5000

/** What the server is started with, and where its lines go. */
export interface SupervisedInferenceOptions {
  /** What the command line of `quarry inference` had, `config` included. */
  readonly flags: Flags
  readonly env: Env
  readonly onOutput: (line: string) => void
  readonly onLog: (line: string) => void
}

export function supervisedInference(options: SupervisedInferenceOptions): SupervisedServer {
  const { flags, env, onOutput, onLog } = options
  const command = { command: process.execPath, args: [BIN, NAME, ...argsOf(flags)], env }
  /** Where the process that runs is asked how it is; it says so when it serves. */
  let healthUrl: string | undefined
  const onLine = (line: string): void => {
    healthUrl ??= readyPlaces(line)?.health
    onOutput(line)
  }
  return {
    start() {
      healthUrl = undefined
      return new Child(NAME, command, { onOutput: onLine, onLog })
    },
    isReady: () => answers(healthUrl, '/readyz'),
    isAlive: () => answers(healthUrl, '/healthz'),
  }
}

/** The flags of a command line as it was. */
function argsOf(flags: Flags): readonly string[] {
  return Object.entries(flags).flatMap(([name, value]) => {
    if (value === undefined || value === false) return []
    const isKnown = name === 'config' || Object.hasOwn(INFERENCE_OPTIONS, name)
    if (!isKnown) throw new Error(`an option that the server does not have: ${name}`)
    return [value === true ? flagName(name) : `${flagName(name)}=${value}`]
  })
}

async function answers(server: string | undefined, path: string): Promise<boolean> {
  if (server === undefined) return false
  try {
    const signal = AbortSignal.timeout(ANSWER_MAX_MS)
    const answer = await fetch(new URL(path, server), { signal })
    await answer.body?.cancel()
    return answer.ok
  } catch {
    return false
  }
}
