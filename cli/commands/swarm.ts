import { once } from 'node:events'
import path from 'node:path'
import type { Command } from 'commander'
import { Lifecycle } from '../../lib/lifecycle.ts'
import type { LogLevel } from '../../lib/log.ts'
import type { Flags } from '../../lib/options.ts'
import { ownCommand } from '../../lib/own-command.ts'
import { parseNodeConfig, SWARM_OPTIONS } from '../../node/config.ts'
import type { RunningNode } from '../../node/main.ts'
import type { CliContext } from '../process/context.ts'
import { explainStart } from './explain-start.ts'
import { addServerOptions, readConfigFile, settingsHelp } from './server-options.ts'
import { reasonOf } from '../process/stop-reason.ts'
import { showReady } from '../render/server-view.ts'
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
When the service is ready, it prints its addresses on standard output: as one
line of JSON, if that is not a terminal. The log goes to standard error, as JSON
lines, if that is not a terminal. Ctrl-C ends the
service in order, a second Ctrl-C at once. In both cases, every acknowledged
write is on disk.

An index of meanings (type "embeddings") asks an inference server for vectors:
the one of QUARRY_INFERENCE_URL, or of --inference-port, or else one that the
store starts beside it when it needs one.
${settingsHelp(SWARM_OPTIONS)}${examples(
  ['keep the data in ./data', ownCommand('swarm --data-dir ./data')],
  [
    'on any free ports, for a test',
    ownCommand('swarm --data-dir /tmp/q --api-port 0 --health-port 0'),
  ],
)}`

async function runSwarm(options: SwarmOptions, context: CliContext): Promise<void> {
  const stop = context.stopSignal()
  await using life = new Lifecycle()
  const { config, inference, inferencePort, modelsDir, ...flags } = options
  const asked = { inference, inferencePort, modelsDir, logLevel: options.logLevel }
  const { url, inside } = await openStoreInference(asked, context, { life, stop })
  const sources = { configPath: config, ownInference: url }
  const { node, dataDir } = await startSwarm(flags, context, sources)
  life.onClose(() => node.close(reasonOf(stop)))
  const places = { api: node.apiUrl, health: node.healthUrl }
  const beside =
    inside === undefined ? {} : { inference: inside.apiUrl, inference_health: inside.healthUrl }
  const more = [
    ['page', `${node.apiUrl}/api/v1/docs`],
    ['data', dataDir],
    ...(inside === undefined ? [] : [['inference', inside.apiUrl] as const]),
  ] as const
  await showReady(
    { name: 'The store', places: { ...places, ...beside }, more },
    context.terminal.out,
  )
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

/** A store, and where its data lives. */
export interface StartedSwarm {
  readonly node: RunningNode
  readonly dataDir: string
}

/** Starts the node. node/config.ts checks the flags. A failure says what the user can change. */
export async function startSwarm(
  flags: Flags,
  { env }: CliContext,
  { configPath, ownInference }: SwarmSources = {},
): Promise<StartedSwarm> {
  const file = await readConfigFile(configPath)
  try {
    const config = parseNodeConfig(env, flags, file)
    // LevelDB asks for modes of its own; only the umask keeps its files from other users.
    process.umask(OWNER_ONLY)
    const { startNode } = await import('../../node/main.ts')
    const levelOf = async (): Promise<LogLevel> =>
      parseNodeConfig(env, flags, await readConfigFile(configPath)).logLevel
    const node = await startNode(config, ownInference, levelOf)
    return { node, dataDir: path.resolve(config.dataDir) }
  } catch (error) {
    throw explainStart(error, '--api-port and --health-port')
  }
}
