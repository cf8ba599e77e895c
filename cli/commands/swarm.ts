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
    .summary('run the whole store in one process')
    .description('Run the whole store in this process.')
  addServerOptions(command, SWARM_OPTIONS)
    .option(
      '--inference-port <port>',
      'also run the inference server, on this port; 0 takes a free one',
    )
    .option('--models-dir <dir>', 'the models of the inference server (default: ./models)')
    .addHelpText('after', HELP)
    .action((options: SwarmOptions) => runSwarm(options, context))
}

const HELP = `
When the service is ready, it prints one line of JSON with its addresses on
standard output. The log goes to standard error, as JSON lines. Ctrl-C ends the
service in order, a second Ctrl-C at once. In both cases, every acknowledged
write is on disk.
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
/** The umask of a process that writes a data directory: directories 0700, files 0600. */
const OWNER_ONLY = 0o077

/** The names that this command has for the options of the inference server. */
const NAMES_INSIDE = {
  port: '--inference-port',
  healthPort: 'QUARRY_INFERENCE_HEALTH_PORT',
}

/**
 * Starts the inference server in this process. With `--inference-port 0`, its health port is free as
 * well, so that tests get two free ports.
 */
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

/** Starts the node. node/config.ts checks the flags. A failure says what the user can change. */
export async function startSwarm(
  flags: Flags,
  { env }: CliContext,
  configPath?: string,
): Promise<RunningNode> {
  const file = await readConfigFile(configPath)
  try {
    const config = parseNodeConfig(env, flags, file)
    // LevelDB asks for modes of its own; only the umask keeps its files from other users.
    process.umask(OWNER_ONLY)
    const { startNode } = await import('../../node/main.ts')
    return await startNode(config)
  } catch (error) {
    throw explainStart(error, '--api-port and --health-port')
  }
}
