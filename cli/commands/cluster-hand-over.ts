import type { Command } from 'commander'
import { ownCommand } from '../../lib/own-command.ts'
import { handOver } from '../cluster/hand-over.ts'
import { findNode } from '../cluster/node-names.ts'
import type { CliContext } from '../process/context.ts'
import { clientCommand, examples, integerOption, openClient } from './client-command.ts'
import type { ClientOptions } from './client-command.ts'

const HOLD_SECONDS_MAX = 600

interface HandOverOptions extends ClientOptions {
  readonly hold: number
  readonly operationId?: string
  readonly wait: boolean
}

export function addClusterHandOverCommand(cluster: Command, context: CliContext): void {
  clientCommand(cluster.command('hand-over <node>'), context)
    .summary('let other nodes lead what a node leads')
    .description(
      'Let other nodes lead what a node leads, and give it no leaderships for a while. It keeps its replicas. ' +
        '<node> is its name, its id, or the beginning of that.',
    )
    .option('--hold <seconds>', 'how long it is given none', integerOption(1, HOLD_SECONDS_MAX), 60)
    .option('--operation-id <id>', 'names what this is a part of; repeating it is harmless')
    .option('--no-wait', 'do not wait until it leads nothing')
    .addHelpText('after', examples(['before a node is restarted', EXAMPLE]))
    .action(async (text: string, options: HandOverOptions) => {
      const client = openClient(options, context)
      const { id: node } = await findNode(client, text)
      const { hold, operationId, wait: waits, json } = options
      const asked = { client, node, holdMs: hold * 1000, operationId, waits }
      await handOver({ ...asked, asJson: json === true }, context)
    })
}

const EXAMPLE = ownCommand('cluster hand-over 7c1e42aa')
