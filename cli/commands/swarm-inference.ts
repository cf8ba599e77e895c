// Which inference server a store asks when its configurations name none.

import type { RunningInference } from '../../inference/main.ts'
import { shownLine } from '../../lib/process/log-words.ts'
import type { Lifecycle } from '../../lib/lifecycle.ts'
import type { CliContext } from '../process/context.ts'
import { usageError } from '../process/exit.ts'
import { ownInferenceArgs } from '../children/own-inference-args.ts'
import { ownInferenceEnvironment } from '../children/own-inference-environment.ts'
import { OwnInference } from '../children/own-inference.ts'
import { reasonOf } from '../process/stop-reason.ts'
import { writeLine } from '../process/terminal.ts'
import { startInferenceServer } from './inference.ts'

const ANY_PORT = '0'

/** The flags of `quarry swarm` that are about the inference server. */
export interface InferenceFlags {
  /** False: the store starts no server. */
  readonly inference?: boolean | undefined
  /** Undefined: the store starts a server for itself alone, when it needs one. */
  readonly inferencePort?: string | undefined
  readonly modelsDir?: string | undefined
  readonly logLevel?: string | undefined
}

/** The inference server of a store. */
export interface StoreInference {
  /** For `startNode`; undefined: the store uses what its settings name. */
  readonly url: (() => Promise<string>) | undefined
  /** The server, if it runs in this process. */
  readonly inside: RunningInference | undefined
}

/** The names that this command has for the options of the inference server. */
const NAMES_INSIDE = {
  port: '--inference-port',
  healthPort: 'QUARRY_INFERENCE_HEALTH_PORT',
}

/** `life` ends what was started. It must close after the store, whose indexes ask until then. */
export async function openStoreInference(
  flags: InferenceFlags,
  context: CliContext,
  { life, stop }: { readonly life: Lifecycle; readonly stop: AbortSignal },
): Promise<StoreInference> {
  const { inference = true, inferencePort, modelsDir } = flags
  if (!inference) {
    if (inferencePort === undefined && modelsDir === undefined) return NO_INFERENCE
    throw usageError('--no-inference excludes --inference-port and --models-dir')
  }
  if (inferencePort === undefined) {
    const own = buildOwn(flags, context)
    life.onClose(() => own[Symbol.asyncDispose]())
    return { url: () => own.url(), inside: undefined }
  }
  const inside = await startInside({ ...flags, port: inferencePort }, context)
  life.onClose(() => inside.close(reasonOf(stop)))
  return { url: async () => inside.apiUrl, inside }
}

const NO_INFERENCE: StoreInference = { url: undefined, inside: undefined }

function buildOwn(flags: InferenceFlags, { env, clock, terminal }: CliContext): OwnInference {
  return new OwnInference({
    command: {
      command: process.execPath,
      args: ownInferenceArgs(flags),
      env: ownInferenceEnvironment(env),
    },
    clock,
    onLog: (line) => void writeLine(terminal.err, terminal.err.isTty ? shownLine(line) : line),
  })
}

/**
 * Starts the inference server in this process. With `--inference-port 0`, its health port is free as
 * well, so that tests get two free ports.
 */
function startInside(
  { port, modelsDir, logLevel }: InferenceFlags & { readonly port: string },
  context: CliContext,
): Promise<RunningInference> {
  const named = context.env['QUARRY_INFERENCE_HEALTH_PORT']
  const healthPort = named === undefined && port === ANY_PORT ? ANY_PORT : named
  const flags = { port, modelsDir, logLevel, healthPort }
  return startInferenceServer(flags, context, { names: NAMES_INSIDE })
}
