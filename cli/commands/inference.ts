import { once } from 'node:events'
import type { Command } from 'commander'
import type { RunningInference } from '../../inference/main.ts'
import type { CliContext } from '../context.ts'
import { explainStart } from '../explain-start.ts'
import { reasonOf } from '../stop-reason.ts'
import { writeLine } from '../terminal.ts'
import { examples } from './client-command.ts'

/** As they were given: inference/config.ts knows the rules, and reports all that breaks them at once. */
export interface InferenceOptions {
  readonly port?: string
  readonly healthPort?: string
  readonly host?: string
  readonly modelsDir?: string
  readonly workers?: string
  readonly isolation?: string
  readonly preload?: string
  readonly insecure?: boolean
  readonly logLevel?: string
}

export function addInferenceCommand(program: Command, context: CliContext): void {
  program
    .command('inference')
    .summary('run the inference server alone')
    .description('Run the inference server alone: embeddings, reranking, generation and more.')
    .option('--port <port>', 'port of the API (default: 11433; 0 takes a free one)')
    .option(
      '--health-port <port>',
      'port of health and metrics (default: 4201; 0 takes a free one)',
    )
    .option('--host <address>', 'address to listen on (default: 127.0.0.1)')
    .option(
      '--models-dir <dir>',
      'where models live (default: ./models; environment: QUARRY_MODELS_DIR)',
    )
    .option('--workers <count>', 'workers that run graphs (default: 0, as many as cores)')
    .option('--isolation <kind>', 'what a worker is: process or thread (default: process)')
    .option('--preload <models>', 'load these at the start and keep them, separated by commas')
    .option('--insecure', 'listen beyond this machine although nobody is asked who they are')
    .option('--log-level <level>', 'debug, info, warn or error (default: info)')
    .addHelpText('after', HELP)
    .action((options: InferenceOptions) => runInference(options, context))
}

const HELP = `
When the server is ready, one line of JSON on standard output says where; the
log goes to standard error, as JSON lines. Ctrl-C lets running requests finish,
a second Ctrl-C does not. Without any model there are the embedder builtin-hash
and the chunker fixed; "quarry models pull" gets others.
${examples(
  ['with the models in ./models', 'quarry inference'],
  ['on any free ports, for a test', 'quarry inference --port 0 --health-port 0'],
)}`

async function runInference(options: InferenceOptions, context: CliContext): Promise<void> {
  const stop = context.stopSignal()
  const server = await startInferenceServer({ ...options }, context)
  try {
    const ready = { event: 'ready', api: server.apiUrl, health: server.healthUrl }
    await writeLine(context.terminal.out, JSON.stringify(ready))
    if (!stop.aborted) await once(stop, 'abort')
  } finally {
    await server.close(reasonOf(stop))
  }
}

/** Loaded on demand: client commands start without the server's code. */
export async function startInferenceServer(
  flags: Readonly<Record<string, string | boolean | undefined>>,
  { env }: CliContext,
  names: Readonly<Record<string, string>> = {},
): Promise<RunningInference> {
  const { parseInferenceConfig } = await import('../../inference/config.ts')
  const { startInference } = await import('../../inference/main.ts')
  try {
    return await startInference(parseInferenceConfig(env, flags, names))
  } catch (error) {
    const { port = '--port', healthPort = '--health-port' } = names
    throw explainStart(error, `${port} and ${healthPort}`)
  }
}
