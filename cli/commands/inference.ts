import { once } from 'node:events'
import type { Command } from 'commander'
import { INFERENCE_OPTIONS, parseInferenceConfig } from '../../inference/config.ts'
import type { InferenceSources } from '../../inference/config.ts'
import type { RunningInference } from '../../inference/main.ts'
import type { Flags } from '../../lib/options.ts'
import { ownCommand } from '../../lib/own-command.ts'
import type { CliContext } from '../process/context.ts'
import { explainStart } from './explain-start.ts'
import { addServerOptions, readConfigFile, settingsHelp } from './server-options.ts'
import { reasonOf } from '../process/stop-reason.ts'
import { showReady } from '../render/server-view.ts'
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
  { config, ...flags }: InferenceOptions,
  context: CliContext,
): Promise<void> {
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
