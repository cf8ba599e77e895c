import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import type { Command } from 'commander'
import type { RunningInference } from '../../inference/main.ts'
import { Lifecycle } from '../../lib/lifecycle.ts'
import type { RunningNode } from '../../node/main.ts'
import type { CliContext } from '../context.ts'
import { CliError, EXIT, usageError } from '../exit.ts'
import { explainStart } from '../explain-start.ts'
import { reasonOf } from '../stop-reason.ts'
import { writeLine } from '../terminal.ts'
import { examples } from './client-command.ts'
import { startInferenceServer } from './inference.ts'

/** As they were given: node/config.ts knows the rules, and reports all that breaks them at once. */
export interface SwarmOptions {
  readonly dataDir?: string
  readonly apiPort?: string
  readonly healthPort?: string
  readonly host?: string
  readonly config?: string
  readonly insecure?: boolean
  readonly logLevel?: string
  /** Undefined: no inference server. */
  readonly inferencePort?: string
  readonly modelsDir?: string
}

export function addSwarmCommand(program: Command, context: CliContext): void {
  program
    .command('swarm')
    .summary('run the store, all in this one process')
    .description('Run the whole store in this one process.')
    .option('--data-dir <dir>', 'where the data lives')
    .option('--api-port <port>', 'port of the API (default: 8080; 0 takes a free one)')
    .option(
      '--health-port <port>',
      'port of health and metrics (default: 4200; 0 takes a free one)',
    )
    .option('--host <address>', 'address to listen on (default: 127.0.0.1)')
    .option('--config <file>', 'configuration file, YAML or JSON; options and environment win')
    .option('--insecure', 'listen beyond this machine although nobody is asked who they are')
    .option(
      '--inference-port <port>',
      'run the inference server inside, on this port (0 takes a free one)',
    )
    .option('--models-dir <dir>', "where the inference server's models live (default: ./models)")
    .option('--log-level <level>', 'debug, info, warn or error (default: info)')
    .addHelpText('after', HELP)
    .action((options: SwarmOptions) => runSwarm(options, context))
}

const HELP = `
When the service is ready, one line of JSON on standard output says where; the
log goes to standard error, as JSON lines. Ctrl-C ends it in order, a second
Ctrl-C at once. Either way, every acknowledged write is on disk.
${examples(
  ['keep the data in ./data', 'quarry swarm --data-dir ./data'],
  ['on any free ports, for a test', 'quarry swarm --data-dir /tmp/q --api-port 0 --health-port 0'],
)}`

async function runSwarm(options: SwarmOptions, context: CliContext): Promise<void> {
  const stop = context.stopSignal()
  await using life = new Lifecycle()
  const { inferencePort, modelsDir, ...nodeOptions } = options
  const node = await startSwarm(nodeOptions, context)
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
  return startInferenceServer({ ...flags, healthPort }, context, NAMES_INSIDE)
}

/** Loaded on demand: client commands start without the store's code. */
export async function startSwarm(options: SwarmOptions, { env }: CliContext): Promise<RunningNode> {
  const { parseNodeConfig } = await import('../../node/config.ts')
  const { startNode } = await import('../../node/main.ts')
  const { config: file, ...flags } = options
  const text = file === undefined ? undefined : await readConfigFile(file)
  try {
    return await startNode(parseNodeConfig(env, flags, text))
  } catch (error) {
    throw explainStart(error, '--api-port and --health-port')
  }
}

async function readConfigFile(path: string): Promise<string> {
  try {
    return await readFile(path, 'utf8')
  } catch (cause) {
    const message = `--config ${path}: the file cannot be read; check the path`
    throw new CliError(EXIT.configuration, 'CONFIGURATION', message, { cause })
  }
}
