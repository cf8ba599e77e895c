// Asks a node to hand its leaderships over, and waits until it leads nothing.

import { EXIT } from '../../lib/process/exit-codes.ts'
import type { CliContext } from '../process/context.ts'
import { CliError } from '../process/exit.ts'
import { writeLine } from '../process/terminal.ts'
import { plural } from '../render/quantity.ts'
import type { ApiClient } from '../service/api-client.ts'
import { parseNode, type NodeAnswer } from '../service/cluster-answers.ts'
import { lookAtNode } from './steering.ts'
import { waitVisibly, type Seen } from './wait-visibly.ts'

/** Which node, for how long, and what is shown of it. */
export interface HandOver {
  readonly client: ApiClient
  readonly node: string
  readonly holdMs: number
  readonly operationId: string | undefined
  readonly waits: boolean
  readonly asJson: boolean
}

/** Waiting ends when the node leads nothing. What nobody else can lead stays, so it may end with the hold. */
export async function handOver(asked: HandOver, context: CliContext): Promise<void> {
  const { client, node, holdMs, operationId, waits, asJson } = asked
  const path = `/cluster/nodes/${encodeURIComponent(node)}/hand-over`
  const body = JSON.stringify({ operation_id: operationId, hold_ms: holdMs })
  let last: NodeAnswer = parseNode((await client.request({ method: 'POST', path, body })).text)
  if (waits && last.leaders > 0) {
    const total = last.leaders
    const look = async (signal: AbortSignal): Promise<Seen> => {
      last = await lookAtNode(client, { node, signal })
      if (last.leaders > 0 && last.heldUntil === '') throw stillLeads(last)
      const share = Math.max(0, 1 - last.leaders / total)
      return {
        isDone: last.leaders === 0,
        share,
        figures: [`${plural(last.leaders, 'leader')} left`],
      }
    }
    const afterwards = `the node hands over all the same; see how far it is with: ${client.command('cluster nodes')}`
    await waitVisibly({ look, afterwards }, context)
  }
  const { leaders, heldUntil } = last
  const value = { node, leaders, done: leaders === 0, held_until: heldUntil }
  await writeLine(context.terminal.out, asJson ? JSON.stringify(value) : describe(asked, last))
}

function describe({ client }: HandOver, { id, leaders, heldUntil }: NodeAnswer): string {
  if (leaders === 0) {
    return `node ${id} leads nothing, until ${heldUntil}; it may be stopped for a moment`
  }
  const left = `${plural(leaders, 'leader')} to go`
  return `node ${id} hands over, ${left}; see how far it is with: ${client.command('cluster nodes')}`
}

function stillLeads({ id, leaders }: NodeAnswer): CliError {
  const what = `node ${id} still leads ${plural(leaders, 'shard')}, and is not held any more`
  return new CliError(EXIT.refused, 'CONFLICT', `${what}: no other node could lead them`)
}
