import { once } from 'node:events'
import type { Command } from 'commander'
import { INFERENCE_OPTIONS, parseInferenceConfig } from '../../inference/config.ts'
import type { InferenceSources } from '../../inference/config.ts'
import type { RunningInference } from '../../inference/main.ts'
import type { Flags } from '../../lib/options.ts'
import type { CliContext } from '../process/context.ts'
import { explainStart } from './explain-start.ts'
import { addServerOptions, readConfigFile, settingsHelp } from './server-options.ts'
import { reasonOf } from '../process/stop-reason.ts'
import { writeLine } from '../process/terminal.ts'
import { examples } from './client-command.ts'

interface InferenceOptions extends Flags {
  readonly config?: string
}

export function addInferenceCommand(program: Command, context: CliContext): void {
  const command = program
    .command('inference')
    .summary('run the inference server alone')
    .description('Run the inference server alone: embeddings, reranking, generation and more.')
  addServerOptions(command, INFERENCE_OPTIONS)
    .addHelpText('after', HELP)
    .action((options: InferenceOptions) => runInference(options, context))
}

const HELP = `
When the server is ready, it prints one line of JSON with its addresses on
standard output. The log goes to standard error, as JSON lines. Ctrl-C lets
running requests finish; a second Ctrl-C ends the server at once. The embedders
quarry-static-en (meanings of English words) and builtin-hash (letters) and the
chunker fixed are built in; "quarry models pull" gets more models.
${settingsHelp(INFERENCE_OPTIONS)}${examples(
  ['with the models in ./models', 'quarry inference'],
  ['on any free ports, for a test', 'quarry inference --port 0 --health-port 0'],
)}`

async function runInference(
  { config, ...flags }: InferenceOptions,
  context: CliContext,
): Promise<void> {
  const stop = context.stopSignal()
  const file = await readConfigFile(config)
  const server = await startInferenceServer(flags, context, { file })
  try {
    const ready = { event: 'ready', api: server.apiUrl, health: server.healthUrl }
    await writeLine(context.terminal.out, JSON.stringify(ready))
    if (!stop.aborted) await once(stop, 'abort')
  } finally {
    await server.close(reasonOf(stop))
  }
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
