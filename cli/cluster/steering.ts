// Asks a cluster for a change, and waits until it has happened.

import { EXIT } from '../../lib/process/exit-codes.ts'
import type { CliContext } from '../process/context.ts'
import { CliError } from '../process/exit.ts'
import { writeLine } from '../process/terminal.ts'
import { formatCount, plural } from '../render/quantity.ts'
import { ServiceRefusal, type ApiClient } from '../service/api-client.ts'
import { parseAnswer, textOf } from '../service/service-answers.ts'
import { parseClusterShard, parseNode, parseNodes } from '../service/cluster-answers.ts'
import type { ClusterShardAnswer, EmptyingAnswer, NodeAnswer } from '../service/cluster-answers.ts'
import { describeMove } from './cluster-view.ts'
import { shortNames } from './node-names.ts'
import { listShards } from './shard-pages.ts'
import { waitVisibly, type Seen } from './wait-visibly.ts'

export type NodeWish = 'drain' | 'undrain' | 'decommission'

interface Asked {
  readonly client: ApiClient
  readonly waits: boolean
  readonly asJson: boolean
}

const STATES: Readonly<Record<NodeWish, string>> = {
  drain: 'draining',
  undrain: 'serving',
  decommission: 'decommissioned',
}

/** Changes what a node is used for. Waiting ends when an emptied node holds nothing. */
export async function steerNode(
  asked: Asked & {
    readonly node: string
    readonly wish: NodeWish
    readonly operationId: string | undefined
  },
  context: CliContext,
): Promise<void> {
  const { client, node, wish, waits, asJson, operationId } = asked
  const path = `/cluster/nodes/${encodeURIComponent(node)}/${wish}`
  const body =
    operationId === undefined ? {} : { body: JSON.stringify({ operation_id: operationId }) }
  const begun = parseNode((await client.request({ method: 'POST', path, ...body })).text)
  let last: NodeAnswer = begun
  if (waits && begun.emptying !== undefined) {
    const total = workOf(begun.emptying)
    const look = async (signal: AbortSignal): Promise<Seen> => {
      last = await lookAtNode(client, { node, signal })
      if (last.state !== STATES[wish]) throw overruled(node, last.state)
      return seenOf(last.emptying, total)
    }
    const afterwards = `the node is emptied all the same; see how far it is with: ${client.command('cluster nodes')}`
    await waitVisibly({ look, afterwards }, context)
  }
  const line = asJson ? JSON.stringify({ node, ...outcomeOf(last) }) : describeNode(asked, last)
  await writeLine(context.terminal.out, line)
}

function outcomeOf({ state, condition, emptying, isSafeToStop }: NodeAnswer): object {
  const left = emptying === undefined ? {} : { replicas_left: emptying.replicasLeft }
  return { state, condition, done: emptying?.isDone ?? true, ...left, safe_to_stop: isSafeToStop }
}

function describeNode(
  { client, wish }: Asked & { readonly wish: NodeWish },
  { id, emptying }: NodeAnswer,
): string {
  if (emptying === undefined) return `node ${id} is in use`
  if (!emptying.isDone) {
    const left = `${plural(emptying.replicasLeft, 'replica')} to go`
    return `node ${id} is being emptied, ${left}; see how far it is with: ${client.command('cluster nodes')}`
  }
  const after = wish === 'decommission' ? 'it may be stopped for good' : 'it may be stopped'
  return `node ${id} holds nothing; ${after}`
}

/** The node as the controller shows it; refused while no controller reports. */
export async function lookAtNode(
  client: ApiClient,
  { node, signal }: { readonly node: string; readonly signal: AbortSignal },
): Promise<NodeAnswer> {
  const { text } = await client.request({ method: 'GET', path: '/cluster/nodes', signal })
  const silence = textOf(parseAnswer(text), 'problem')
  // What one node knows says nothing about the end of the work.
  if (silence !== '') {
    throw new ServiceRefusal({ status: 503, code: 'UNAVAILABLE', message: silence, body: text })
  }
  const found = parseNodes(text).find(({ id }) => id === node)
  if (found !== undefined) return found
  throw new CliError(EXIT.refused, 'NOT_FOUND', `node ${node} is not in the cluster any more`)
}

function workOf({ replicasLeft, leadersLeft }: EmptyingAnswer): number {
  return replicasLeft + leadersLeft
}

function seenOf(emptying: EmptyingAnswer | undefined, total: number): Seen {
  if (emptying === undefined) return { isDone: true, share: 1, figures: ['done'] }
  const { isDone, replicasLeft, leadersLeft, moving, waiting } = emptying
  const [first] = waiting
  const others = waiting.length > 1 ? ` (and ${waiting.length - 1} more)` : ''
  return {
    isDone,
    share: total === 0 ? 1 : Math.max(0, 1 - workOf(emptying) / total),
    figures: [
      `${plural(replicasLeft, 'replica')} left`,
      `${plural(leadersLeft, 'leader')} left`,
      `${moving} moving`,
    ],
    note: first === undefined ? undefined : `waiting: ${first.reason}${others}`,
  }
}

function overruled(node: string, state: string): CliError {
  const message = `node ${node} is ${state} now: somebody else changed it meanwhile`
  return new CliError(EXIT.refused, 'CONFLICT', message)
}

/** Moves a replica. Waiting ends when the new one is in sync and the old one has gone. */
export async function moveReplica(
  asked: Asked & { readonly shard: string; readonly from: string; readonly to: string },
  context: CliContext,
): Promise<void> {
  const { client, shard, from, to, waits } = asked
  const short = shortNames([from, to])
  let last = await ask(client, `${shard}/move`, { from, to })
  const isThere = (): boolean => last.replicas.some(({ node }) => node === to)
  const isOver = (): boolean => isThere() && last.replicas.every(({ node }) => node !== from)
  if (waits) {
    const look = async (): Promise<Seen> => {
      last = await lookAtShard(client, last)
      if (last.move === undefined && !isOver()) throw givenUp(client, last)
      const figures = last.move === undefined ? ['done'] : [describeMove(last.move, short)]
      const lag = last.replicas.find(({ node }) => node === to)?.lag
      const behind = lag === undefined || lag === 0 ? [] : [`${formatCount(lag)} entries behind`]
      const note = last.waits === '' ? undefined : last.waits
      return { isDone: isOver(), share: undefined, figures: [...figures, ...behind], note }
    }
    const afterwards = `the move continues; see how far it is with: ${client.command('cluster shards')}`
    await waitVisibly({ look, afterwards }, context)
  }
  const text = isOver()
    ? `the replica of shard ${shard} is on ${to}, and no longer on ${from}`
    : `the move of shard ${shard} to ${to} has begun; see how far it is with: ${client.command('cluster shards')}`
  await report(asked, { text, value: { shard, from, to, done: isOver() } }, context)
}

/** Lets the replica on another node lead. */
export async function transferLeader(
  asked: Asked & { readonly shard: string; readonly to: string },
  context: CliContext,
): Promise<void> {
  const { client, shard, to, waits } = asked
  let last = await ask(client, `${shard}/transfer-leader`, { to })
  const isDone = (): boolean => last.leader === to
  if (waits && !isDone()) {
    const look = async (): Promise<Seen> => {
      last = await lookAtShard(client, last)
      return { isDone: isDone(), share: undefined, figures: [`waiting for ${to} to lead`] }
    }
    const afterwards = `see who leads with: ${client.command('cluster shards')}`
    await waitVisibly({ look, afterwards }, context)
  }
  const text = isDone() ? `${to} leads shard ${shard}` : `${to} is to lead shard ${shard}`
  await report(asked, { text, value: { shard, to, done: isDone() } }, context)
}

async function ask(client: ApiClient, path: string, body: object): Promise<ClusterShardAnswer> {
  const request = { method: 'POST', path: `/cluster/shards/${path}` } as const
  const { text } = await client.request({ ...request, body: JSON.stringify(body) })
  return parseClusterShard(text)
}

async function lookAtShard(
  client: ApiClient,
  { id, table }: ClusterShardAnswer,
): Promise<ClusterShardAnswer> {
  // The product's own tables cannot be asked for by name.
  const wanted = table.startsWith('_') ? {} : { table }
  const { shards } = await listShards(client, wanted)
  const found = shards.find((shard) => shard.id === id)
  if (found !== undefined) return found
  throw new CliError(EXIT.refused, 'NOT_FOUND', `shard ${id} is gone: its table was dropped`)
}

function givenUp(client: ApiClient, { id }: ClusterShardAnswer): CliError {
  const message = `the move of shard ${id} was given up: look at the nodes with: ${client.command('cluster status')}`
  return new CliError(EXIT.refused, 'CONFLICT', message)
}

async function report(
  { asJson }: Asked,
  { text, value }: { readonly text: string; readonly value: object },
  { terminal: { out } }: CliContext,
): Promise<void> {
  await writeLine(out, asJson ? JSON.stringify(value) : text)
}
