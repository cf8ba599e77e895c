import { once } from 'node:events'
import type { Command } from 'commander'
import { Lifecycle } from '../../lib/lifecycle.ts'
import type { Flags } from '../../lib/options.ts'
import { parseNodeConfig, SWARM_OPTIONS } from '../../node/config.ts'
import type { RunningNode } from '../../node/main.ts'
import type { CliContext } from '../process/context.ts'
import { explainStart } from './explain-start.ts'
import { addServerOptions, readConfigFile, settingsHelp } from './server-options.ts'
import { reasonOf } from '../process/stop-reason.ts'
import { writeLine } from '../process/terminal.ts'
import { examples } from './client-command.ts'
import { openStoreInference, type InferenceFlags } from './swarm-inference.ts'

interface SwarmOptions extends Flags, InferenceFlags {
  readonly config?: string
}

export function addSwarmCommand(program: Command, context: CliContext): void {
  const command = program
    .command('swarm')
    .summary('run the whole store in one process')
    .description('Run the whole store in this process.')
  addServerOptions(command, SWARM_OPTIONS)
    .option(
      '--inference-port <port>',
      'run the inference server in this process, on this port; 0 takes a free one',
    )
    .option('--models-dir <dir>', 'the models of the inference server (default: ./models)')
    .option('--no-inference', 'start no inference server')
    .addHelpText('after', HELP)
    .action((options: SwarmOptions) => runSwarm(options, context))
}

const HELP = `
When the service is ready, it prints one line of JSON with its addresses on
standard output. The log goes to standard error, as JSON lines. Ctrl-C ends the
service in order, a second Ctrl-C at once. In both cases, every acknowledged
write is on disk.

An index of meanings (type "embeddings") asks an inference server for vectors:
the one of QUARRY_INFERENCE_URL, or of --inference-port, or else one that the
store starts beside it when it needs one.
${settingsHelp(SWARM_OPTIONS)}${examples(
  ['keep the data in ./data', 'quarry swarm --data-dir ./data'],
  ['on any free ports, for a test', 'quarry swarm --data-dir /tmp/q --api-port 0 --health-port 0'],
)}`

async function runSwarm(options: SwarmOptions, context: CliContext): Promise<void> {
  const stop = context.stopSignal()
  await using life = new Lifecycle()
  const { config, inference, inferencePort, modelsDir, ...flags } = options
  const asked = { inference, inferencePort, modelsDir, logLevel: options.logLevel }
  const { url, inside } = await openStoreInference(asked, context, { life, stop })
  const node = await startSwarm(flags, context, { configPath: config, ownInference: url })
  life.onClose(() => node.close(reasonOf(stop)))
  const ready = { event: 'ready', api: node.apiUrl, health: node.healthUrl }
  const places =
    inside === undefined ? {} : { inference: inside.apiUrl, inference_health: inside.healthUrl }
  await writeLine(context.terminal.out, JSON.stringify({ ...ready, ...places }))
  if (!stop.aborted) await once(stop, 'abort')
}

/** The umask of a process that writes a data directory: directories 0700, files 0600. */
const OWNER_ONLY = 0o077

/** Where a node gets its settings, beside flags and environment. */
export interface SwarmSources {
  readonly configPath?: string | undefined
  /** An inference server of this store alone. */
  readonly ownInference?: (() => Promise<string>) | undefined
}

/** Starts the node. node/config.ts checks the flags. A failure says what the user can change. */
export async function startSwarm(
  flags: Flags,
  { env }: CliContext,
  { configPath, ownInference }: SwarmSources = {},
): Promise<RunningNode> {
  const file = await readConfigFile(configPath)
  try {
    const config = parseNodeConfig(env, flags, file)
    // LevelDB asks for modes of its own; only the umask keeps its files from other users.
    process.umask(OWNER_ONLY)
    const { startNode } = await import('../../node/main.ts')
    return await startNode(config, ownInference)
  } catch (error) {
    throw explainStart(error, '--api-port and --health-port')
  }
}
