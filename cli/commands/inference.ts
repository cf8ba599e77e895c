import { once } from 'node:events'
import type { Command } from 'commander'
import { INFERENCE_OPTIONS, parseInferenceConfig } from '../../inference/config.ts'
import type { InferenceSources } from '../../inference/config.ts'
import type { RunningInference } from '../../inference/main.ts'
import { integer } from '../../lib/options.ts'
import type { Flags } from '../../lib/options.ts'
import { ownCommand } from '../../lib/own-command.ts'
import { openServerLog } from '../../lib/process/server-process.ts'
import { supervisedInference } from '../children/supervised-inference.ts'
import { supervise } from '../children/supervisor.ts'
import type { CliContext } from '../process/context.ts'
import { usageError } from '../process/exit.ts'
import { explainStart } from './explain-start.ts'
import { addServerOptions, readConfigFile, settingsHelp } from './server-options.ts'
import { reasonOf } from '../process/stop-reason.ts'
import { showReady } from '../render/server-view.ts'
import { examples } from './client-command.ts'

interface InferenceOptions extends Flags {
  readonly config?: string
  readonly supervise?: string
}

const START_SECONDS = integer({ default: 600, min: 10, max: 86_400 })

export function addInferenceCommand(program: Command, context: CliContext): void {
  const command = program
    .command('inference')
    .summary('run the inference server alone')
    .description('Run the inference server alone: embeddings, reranking, generation and more.')
  addServerOptions(command, INFERENCE_OPTIONS)
    .option(
      '--supervise <seconds>',
      'run the server in a process of its own, and start it again when it ends, when it is not ready within this number of seconds, and when it answers no more',
    )
    .addHelpText('after', HELP)
    .action((options: InferenceOptions) => runInference(options, context))
}

const HELP = `
When the server is ready, it prints its addresses on standard output: as one
line of JSON, if that is not a terminal. The log goes to standard error, as JSON
lines, if that is not a terminal. Ctrl-C lets
running requests finish; a second Ctrl-C ends the server at once. The embedders
quarry-static-en (meanings of English words) and builtin-hash (letters) and the
chunker fixed are built in; more models come by "${ownCommand('models pull')}".
${settingsHelp(INFERENCE_OPTIONS)}${examples(
  ['with the models in ./models', ownCommand('inference')],
  ['on any free ports, for a test', ownCommand('inference --port 0 --health-port 0')],
)}`

async function runInference(
  { supervise: startSeconds, ...options }: InferenceOptions,
  context: CliContext,
): Promise<void> {
  if (startSeconds !== undefined) return superviseInference(options, startSeconds, context)
  const { config, ...flags } = options
  const stop = context.stopSignal()
  const file = await readConfigFile(config)
  const server = await startInferenceServer(flags, context, { file })
  try {
    const places = { api: server.apiUrl, health: server.healthUrl }
    const more = [
      ['page', `${server.apiUrl}/api/docs`],
      ['models', server.modelsDir],
    ] as const
    await showReady({ name: 'The inference server', places, more }, context.terminal.out)
    if (!stop.aborted) await once(stop, 'abort')
  } finally {
    await server.close(reasonOf(stop))
  }
}

/** The process that serves says what is wrong with its options, each time: people may mend its file meanwhile. */
async function superviseInference(
  flags: Flags,
  startSeconds: string,
  context: CliContext,
): Promise<void> {
  const seconds = START_SECONDS.parse(startSeconds)
  if (seconds === undefined) {
    throw usageError(`--supervise: "${startSeconds}" is not ${START_SECONDS.expected}`)
  }
  const { env, clock, random, terminal } = context
  const stop = context.stopSignal()
  const server = supervisedInference({
    flags,
    env,
    onOutput: (line) => terminal.out.stream.write(`${line}\n`),
    onLog: (line) => terminal.err.stream.write(`${line}\n`),
  })
  const log = openServerLog('info', 'inference')
  await supervise({ server, readyWithinMs: seconds * 1000, clock, random, log }, stop)
}

/** Starts the server. inference/config.ts checks the flags. A failure says what the user can change. */
export async function startInferenceServer(
  flags: Flags,
  { env }: CliContext,
  sources: InferenceSources,
): Promise<RunningInference> {
  try {
    const config = parseInferenceConfig(env, flags, sources)
    const { startInference } = await import('../../inference/main.ts')
    return await startInference(config)
  } catch (error) {
    const { port = '--port', healthPort = '--health-port' } = sources.names ?? {}
    throw explainStart(error, `${port} and ${healthPort}`)
  }
}
