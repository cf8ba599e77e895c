import { once } from 'node:events'
import type { Command } from 'commander'
import type { Flags } from '../../lib/options.ts'
import { ownCommand } from '../../lib/own-command.ts'
import { OPERATOR_OPTIONS, parseOperatorConfig } from '../../operator/config.ts'
import type { RunningOperator } from '../../operator/main.ts'
import type { CliContext } from '../process/context.ts'
import { reasonOf } from '../process/stop-reason.ts'
import { showReady } from '../render/server-view.ts'
import { examples } from './client-command.ts'
import { explainStart } from './explain-start.ts'
import { addServerOptions, readConfigFile, settingsHelp } from './server-options.ts'

interface OperatorFlags extends Flags {
  readonly config?: string
}

const HELP = `
In a pod it uses the service account, and elsewhere the context of KUBECONFIG or
~/.kube/config. POD_NAME and POD_NAMESPACE say where it runs. The log goes to
standard error, as JSON lines, if that is not a terminal. Ctrl-C ends the operator
in order: it finishes the step that it is at, and gives the leadership away.
${settingsHelp(OPERATOR_OPTIONS)}${examples([
  'for clusters in two namespaces, alone',
  ownCommand('operator --watch-namespaces shop,news'),
])}`

export function addOperatorCommand(program: Command, context: CliContext): void {
  const command = program
    .command('operator')
    .summary('run the operator of Kubernetes')
    .description(
      'Run the operator, which makes clusters of StoreCluster objects in Kubernetes. The chart charts/quarry starts it.',
    )
  addServerOptions(command, OPERATOR_OPTIONS)
    .addHelpText('after', HELP)
    .action((options: OperatorFlags) => runOperator(options, context))
}

async function runOperator(
  { config, ...flags }: OperatorFlags,
  context: CliContext,
): Promise<void> {
  const stop = context.stopSignal()
  const operator = await start(flags, context, config)
  try {
    const places = { metrics: operator.metricsUrl, health: operator.healthUrl }
    const more = [['metrics', `${operator.metricsUrl}/metrics`]] as const
    await showReady({ name: 'The operator', places, more }, context.terminal.out)
    if (!stop.aborted) await once(stop, 'abort')
  } finally {
    await operator.close(reasonOf(stop))
  }
}

async function start(
  flags: Flags,
  { env }: CliContext,
  configPath: string | undefined,
): Promise<RunningOperator> {
  const file = await readConfigFile(configPath)
  try {
    const config = parseOperatorConfig(env, flags, file)
    const { startOperator } = await import('../../operator/main.ts')
    return await startOperator(config)
  } catch (error) {
    throw explainStart(error, '--health-port and --metrics-port')
  }
}
