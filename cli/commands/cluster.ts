import { createInterface } from 'node:readline/promises'
import type { Command } from 'commander'
import { EXIT } from '../../lib/process/exit-codes.ts'
import { ownCommand } from '../../lib/own-command.ts'
import { describeCluster, describeNodes, describeShards } from '../cluster/cluster-view.ts'
import { findNode } from '../cluster/node-names.ts'
import { listShards } from '../cluster/shard-pages.ts'
import { moveReplica, steerNode, transferLeader } from '../cluster/steering.ts'
import type { NodeWish } from '../cluster/steering.ts'
import type { CliContext } from '../process/context.ts'
import { CliError, usageError } from '../process/exit.ts'
import { writeLine } from '../process/terminal.ts'
import { printable } from '../../lib/process/log-words.ts'
import { parseLeftovers, parseNodes, parseSummary } from '../service/cluster-answers.ts'
import { memberOf, parseAnswer, textOf } from '../service/service-answers.ts'
import { addClusterHandOverCommand } from './cluster-hand-over.ts'
import { addClusterReloadCommand } from './cluster-reload.ts'
import { addClusterRecoverCommand } from './cluster-recover.ts'
import { addClusterStartCommand } from './cluster-start.ts'
import { clientCommand, examples, openClient } from './client-command.ts'
import type { ClientOptions } from './client-command.ts'

const TROUBLES = ['any', 'unplaced', 'leaderless', 'below_minimum', 'under_replicated', 'misplaced']

/** The options of commands that start work of the cluster. `wait` is false with `--no-wait`. */
interface SteerOptions extends ClientOptions {
  readonly wait: boolean
}

interface OperationOptions extends ClientOptions {
  readonly operationId?: string
}

const OPERATION_ID = [
  '--operation-id <id>',
  'names what this is a part of; other operations cannot take or end it',
] as const

export function addClusterCommand(program: Command, context: CliContext): void {
  const cluster = program
    .command('cluster')
    .summary('run, show and steer the nodes of a cluster')
    .description(
      'Run a cluster on this machine. Show nodes and shards, and move what runs on them.',
    )
  addClusterStartCommand(cluster, context)
  addStatus(cluster, context)
  addNodes(cluster, context)
  addShards(cluster, context)
  addNodeWish(cluster, context, 'drain')
  addUndrain(cluster, context)
  addNodeWish(cluster, context, 'decommission')
  addClusterHandOverCommand(cluster, context)
  addForget(cluster, context)
  addCollect(cluster, context)
  addClusterReloadCommand(cluster, context)
  addMove(cluster, context)
  addTransfer(cluster, context)
  addClusterRecoverCommand(cluster, context)
}

function addStatus(cluster: Command, context: CliContext): void {
  clientCommand(cluster.command('status'), context)
    .summary('sum up the cluster')
    .description('Sum up the cluster: its health, its nodes, and what waits.')
    .action(async (options: ClientOptions) => {
      const client = openClient(options, context)
      const { out } = context.terminal
      const status = await client.request({ method: 'GET', path: '/status' })
      if (options.json === true) {
        return writeLine(out, JSON.stringify(memberOf(parseAnswer(status.text), 'cluster')))
      }
      const nodes = await client.request({ method: 'GET', path: '/cluster/nodes' })
      const place = { url: client.url, screen: out }
      return writeLine(
        out,
        describeCluster(parseSummary(status.text), parseNodes(nodes.text), place),
      )
    })
}

function addNodes(cluster: Command, context: CliContext): void {
  clientCommand(cluster.command('nodes'), context)
    .summary('list the nodes')
    .description('List the nodes with what they hold, and whether they may be stopped.')
    .action(async (options: ClientOptions) => {
      const { out, err } = context.terminal
      const client = openClient(options, context)
      const { text } = await client.request({ method: 'GET', path: '/cluster/nodes' })
      const age = describeAge(text)
      if (options.json !== true) {
        const said = age === '' ? '' : `\n${age}`
        return writeLine(out, `${describeNodes(parseNodes(text), out)}${said}`)
      }
      if (age !== '') await writeLine(err, age)
      const nodes = memberOf(parseAnswer(text), 'nodes')
      for (const node of Array.isArray(nodes) ? nodes : []) {
        await writeLine(out, JSON.stringify(node))
      }
      return undefined
    })
}

/** Said when no controller reports; with --json on standard error, beside lines of which each is a node. */
function describeAge(text: string): string {
  const answer = parseAnswer(text)
  const age = memberOf(answer, 'age_ms')
  if (typeof age !== 'number') return ''
  const seconds = Math.round(age / 1000)
  const problem = printable(textOf(answer, 'problem'))
  return `as the asked node knew them ${seconds} s ago: ${problem}`
}

interface ShardsOptions extends ClientOptions {
  readonly table?: string
  readonly trouble?: string
}

function addShards(cluster: Command, context: CliContext): void {
  clientCommand(cluster.command('shards'), context)
    .summary('list the shards with their replicas')
    .description('List the shards with their leaders, replicas and troubles.')
    .option('--table <name>', 'only the shards of this table')
    .option('--trouble <trouble>', `only shards with this trouble: ${TROUBLES.join(', ')}`)
    .addHelpText(
      'after',
      examples(['what is wrong anywhere', ownCommand('cluster shards --trouble any')]),
    )
    .action(async (options: ShardsOptions) => {
      const { table, trouble } = options
      if (trouble !== undefined && !TROUBLES.includes(trouble)) {
        throw usageError(`--trouble: give one of ${TROUBLES.join(', ')}`)
      }
      const { out } = context.terminal
      const client = openClient(options, context)
      const { shards, values } = await listShards(client, { table, trouble })
      if (options.json !== true) {
        const nodes = await client.request({ method: 'GET', path: '/cluster/nodes' })
        return writeLine(out, describeShards(shards, parseNodes(nodes.text), out))
      }
      for (const value of values) await writeLine(out, JSON.stringify(value))
      return undefined
    })
}

const WISHES = {
  drain: {
    summary: 'take everything from a node',
    description:
      'Give all replicas and leaderships of a node to others, and wait until it is empty.',
    example: ['before the machine is repaired', ownCommand('cluster drain 7c1e42aa')],
  },
  decommission: {
    summary: 'take a node out for good',
    description: 'Empty a node, which is never used again, and wait until it is empty.',
    example: ['in a script', ownCommand('cluster decommission 7c1e42aa --yes')],
  },
} as const

function addNodeWish(
  cluster: Command,
  context: CliContext,
  wish: Exclude<NodeWish, 'undrain'>,
): void {
  const { summary, description, example } = WISHES[wish]
  const command = clientCommand(cluster.command(`${wish} <node>`), context)
    .summary(summary)
    .description(`${description} <node> is its name, its id, or the beginning of that.`)
    .option('--no-wait', 'do not wait until the node is empty')
    .option(...OPERATION_ID)
    .addHelpText('after', examples(example))
  if (wish === 'decommission') command.option('--yes', 'do not ask')
  type Options = SteerOptions & OperationOptions & { readonly yes?: boolean }
  command.action(async (text: string, options: Options) => {
    const client = openClient(options, context)
    const node = await findNode(client, text)
    if (wish === 'decommission' && options.yes !== true) await confirm(node.id, context)
    const { operationId } = options
    await steerNode({ client, wish, node: node.id, operationId, ...flagsOf(options) }, context)
  })
}

function addUndrain(cluster: Command, context: CliContext): void {
  clientCommand(cluster.command('undrain <node>'), context)
    .summary('use a node again')
    .description('End the drain of a node: it gets replicas and leaderships again.')
    .option('--operation-id <id>', 'end it only if it belongs to this operation')
    .action(async (text: string, options: OperationOptions) => {
      const client = openClient(options, context)
      const { id } = await findNode(client, text)
      const { operationId, json } = options
      const asked = { client, node: id, operationId, waits: false, asJson: json === true }
      await steerNode({ ...asked, wish: 'undrain' }, context)
    })
}

function addForget(cluster: Command, context: CliContext): void {
  clientCommand(cluster.command('forget <node>'), context)
    .summary('list a decommissioned node no more')
    .description('Forget a node that was decommissioned, is gone and holds nothing.')
    .action(async (text: string, options: ClientOptions) => {
      const client = openClient(options, context)
      const { id } = await findNode(client, text)
      await client.request({ method: 'DELETE', path: `/cluster/nodes/${encodeURIComponent(id)}` })
      const line = options.json === true ? JSON.stringify({ forgotten: id }) : `forgot node ${id}`
      await writeLine(context.terminal.out, line)
    })
}

function addCollect(cluster: Command, context: CliContext): void {
  clientCommand(cluster.command('collect <node> [shards...]'), context)
    .summary('remove replicas that belong to no table')
    .description(
      'List the replicas on a node that belong to no table and that no drop explains, or remove those that are named.',
    )
    .action(async (text: string, shards: readonly string[], options: ClientOptions) => {
      const client = openClient(options, context)
      const { id } = await findNode(client, text)
      const path = `/cluster/nodes/${encodeURIComponent(id)}/collect`
      const answer = await client.request({
        method: 'POST',
        path,
        body: JSON.stringify({ shards }),
      })
      const { out } = context.terminal
      if (options.json === true) return writeLine(out, JSON.stringify(parseAnswer(answer.text)))
      const { removed, leftovers, leftoverCount } = parseLeftovers(answer.text)
      for (const shard of removed) await writeLine(out, `removed ${shard}`)
      for (const shard of leftovers) await writeLine(out, `${shard} belongs to no table`)
      const more = leftoverCount - leftovers.length
      if (more > 0) await writeLine(out, `${more} more belong to no table`)
      if (removed.length + leftovers.length === 0) await writeLine(out, 'nothing is left over')
      return undefined
    })
}

interface MoveOptions extends SteerOptions {
  readonly from: string
  readonly to: string
}

function addMove(cluster: Command, context: CliContext): void {
  clientCommand(cluster.command('move <shard>'), context)
    .summary('move a replica to another node')
    .description('Move a replica of a shard to another node, and wait until it is there.')
    .requiredOption('--from <node>', 'the node whose replica goes')
    .requiredOption('--to <node>', 'a node without a replica of the shard')
    .option('--no-wait', 'do not wait until the move is over')
    .addHelpText('after', examples(['nodes by the beginnings of their ids', MOVE_EXAMPLE]))
    .action(async (shard: string, options: MoveOptions) => {
      const client = openClient(options, context)
      const from = (await findNode(client, options.from)).id
      const to = (await findNode(client, options.to)).id
      await moveReplica({ client, shard, from, to, ...flagsOf(options) }, context)
    })
}

const MOVE_EXAMPLE = ownCommand('cluster move 9f3c2a1700000001 --from 7c1e42aa --to 51c9d7f8')

interface TransferOptions extends SteerOptions {
  readonly to: string
}

function addTransfer(cluster: Command, context: CliContext): void {
  clientCommand(cluster.command('transfer-leader <shard>'), context)
    .summary('let another replica lead')
    .description('Let the replica on another node lead a shard, and wait until it does.')
    .requiredOption('--to <node>', 'a node with a replica that is in sync')
    .option('--no-wait', 'do not wait until the node leads')
    .action(async (shard: string, options: TransferOptions) => {
      const client = openClient(options, context)
      const to = (await findNode(client, options.to)).id
      await transferLeader({ client, shard, to, ...flagsOf(options) }, context)
    })
}

function flagsOf({ wait, json }: SteerOptions) {
  return { waits: wait, asJson: json === true }
}

async function confirm(node: string, { terminal }: CliContext): Promise<void> {
  if (!terminal.stdinIsTty || !terminal.err.isTty) {
    throw usageError(`a decommissioned node never comes back: add --yes to confirm`)
  }
  const prompt = createInterface({ input: terminal.stdin, output: terminal.err.stream })
  try {
    const question = `Take node ${printable(node)} out of the cluster for good? Type yes to confirm: `
    if ((await prompt.question(question)) === 'yes') return
  } finally {
    prompt.close()
  }
  throw new CliError(EXIT.refused, 'CANCELLED', 'nothing was changed')
}
