import type { Command } from 'commander'
import { describeLoaded } from '../cluster/loaded-view.ts'
import type { CliContext } from '../process/context.ts'
import { writeLine } from '../process/terminal.ts'
import { parseAnswer } from '../service/service-answers.ts'
import { clientCommand, openClient, type ClientOptions } from './client-command.ts'

interface ReloadOptions extends ClientOptions {
  readonly logLevel?: string
}

export function addClusterReloadCommand(cluster: Command, context: CliContext): void {
  clientCommand(cluster.command('reload'), context)
    .summary('let a node load its secrets and certificates again')
    .description('Let the node at --url load secrets, certificates and its log level again.')
    .option('--log-level <level>', 'debug, info, warn or error, until the next reload')
    .action(async ({ logLevel, ...options }: ReloadOptions) => {
      const client = openClient(options, context)
      const body = JSON.stringify(logLevel === undefined ? {} : { log_level: logLevel })
      const { text } = await client.request({ method: 'POST', path: '/node/reload', body })
      const { out } = context.terminal
      const line = options.json === true ? text.trim() : describeLoaded(parseAnswer(text), out)
      await writeLine(out, line)
    })
}
