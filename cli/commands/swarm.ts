import { once } from 'node:events'
import type { Command } from 'commander'
import type { RunningInference } from '../../inference/main.ts'
import { Lifecycle } from '../../lib/lifecycle.ts'
import type { Flags } from '../../lib/options.ts'
import { parseNodeConfig, SWARM_OPTIONS } from '../../node/config.ts'
import type { RunningNode } from '../../node/main.ts'
import type { CliContext } from '../process/context.ts'
import { usageError } from '../process/exit.ts'
import { explainStart } from './explain-start.ts'
import { addServerOptions, readConfigFile, settingsHelp } from './server-options.ts'
import { reasonOf } from '../process/stop-reason.ts'
import { writeLine } from '../process/terminal.ts'
import { examples } from './client-command.ts'
import { startInferenceServer } from './inference.ts'

interface SwarmOptions extends Flags {
  readonly config?: string
  /** Undefined: no inference server. */
  readonly inferencePort?: string
  readonly modelsDir?: string
  readonly logLevel?: string
}

export function addSwarmCommand(program: Command, context: CliContext): void {
  const command = program
    .command('swarm')
    .summary('run the store, all in this one process')
    .description('Run the whole store in this one process.')
  addServerOptions(command, SWARM_OPTIONS)
    .option(
      '--inference-port <port>',
      'run the inference server inside, on this port; 0 takes a free one',
    )
    .option('--models-dir <dir>', "where the inference server's models live (default: ./models)")
    .addHelpText('after', HELP)
    .action((options: SwarmOptions) => runSwarm(options, context))
}

const HELP = `
When the service is ready, one line of JSON on standard output says where; the
log goes to standard error, as JSON lines. Ctrl-C ends it in order, a second
Ctrl-C at once. Either way, every acknowledged write is on disk.
${settingsHelp(SWARM_OPTIONS)}${examples(
  ['keep the data in ./data', 'quarry swarm --data-dir ./data'],
  ['on any free ports, for a test', 'quarry swarm --data-dir /tmp/q --api-port 0 --health-port 0'],
)}`

async function runSwarm(options: SwarmOptions, context: CliContext): Promise<void> {
  const stop = context.stopSignal()
  await using life = new Lifecycle()
  const { config, inferencePort, modelsDir, ...flags } = options
  const node = await startSwarm(flags, context, config)
  life.onClose(() => node.close(reasonOf(stop)))
  const ready = { event: 'ready', api: node.apiUrl, health: node.healthUrl }
  const { logLevel } = options
  const inside = await startInside({ port: inferencePort, modelsDir, logLevel }, context)
  if (inside !== undefined) life.onClose(() => inside.close(reasonOf(stop)))
  const places =
    inside === undefined ? {} : { inference: inside.apiUrl, inference_health: inside.healthUrl }
  await writeLine(context.terminal.out, JSON.stringify({ ...ready, ...places }))
  if (!stop.aborted) await once(stop, 'abort')
}

interface InsideFlags {
  readonly port: string | undefined
  readonly modelsDir: string | undefined
  readonly logLevel: string | undefined
}

const ANY_PORT = '0'

/** What this command calls the options of the server inside. */
const NAMES_INSIDE = {
  port: '--inference-port',
  healthPort: 'QUARRY_INFERENCE_HEALTH_PORT',
}

/** On its usual ports, which the store's are not; a test that asks for a free one gets two. */
async function startInside(
  flags: InsideFlags,
  context: CliContext,
): Promise<RunningInference | undefined> {
  if (flags.port === undefined) {
    if (flags.modelsDir === undefined) return undefined
    throw usageError('--models-dir is for the inference server: add --inference-port')
  }
  const named = context.env['QUARRY_INFERENCE_HEALTH_PORT']
  const healthPort = named === undefined && flags.port === ANY_PORT ? ANY_PORT : named
  return startInferenceServer({ ...flags, healthPort }, context, { names: NAMES_INSIDE })
}

/** `flags` as they were given: node/config.ts knows the rules. */
export async function startSwarm(
  flags: Flags,
  { env }: CliContext,
  configPath?: string,
): Promise<RunningNode> {
  const file = await readConfigFile(configPath)
  try {
    const config = parseNodeConfig(env, flags, file)
    const { startNode } = await import('../../node/main.ts')
    return await startNode(config)
  } catch (error) {
    throw explainStart(error, '--api-port and --health-port')
  }
}
