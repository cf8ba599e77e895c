import type { Command } from 'commander'
import type { CliContext } from '../process/context.ts'
import { plural } from '../render/quantity.ts'
import { formatTable } from '../render/text-table.ts'
import { printable } from '../../lib/process/log-words.ts'
import { parseStatus } from '../service/service-answers.ts'
import type { StatusAnswer } from '../service/service-answers.ts'
import { paint, writeLine } from '../process/terminal.ts'
import type { Output, Style } from '../process/terminal.ts'
import { clientCommand, openClient } from './client-command.ts'
import type { ClientOptions } from './client-command.ts'

const HEALTH_STYLES = new Map<string, Style>([
  ['healthy', 'green'],
  ['degraded', 'yellow'],
  ['unhealthy', 'red'],
  ['error', 'red'],
])

interface StatusOptions extends ClientOptions {
  readonly all?: boolean
}

export function addStatusCommand(program: Command, context: CliContext): void {
  clientCommand(program.command('status'), context)
    .summary('show the health of the service')
    .description('Show the health of the service and of every shard.')
    .option('--all', "show the shards of the store's own tables, too")
    .action(async (options: StatusOptions) => {
      const client = openClient(options, context)
      const answer = await client.request({ method: 'GET', path: '/status' })
      const { out } = context.terminal
      if (options.json === true) return writeLine(out, answer.text.trim())
      const status = parseStatus(answer.text)
      const shards = options.all === true ? status.shards : status.shards.filter(isOfInterest)
      return writeLine(out, describeStatus({ ...status, shown: shards }, client.url, out))
    })
}

/** The store's own tables matter only when something is wrong with them. */
function isOfInterest({ table, state }: StatusAnswer['shards'][number]): boolean {
  return state !== 'serving' || !table.startsWith('_')
}

interface ShownStatus extends StatusAnswer {
  readonly shown: StatusAnswer['shards']
}

/** The service counts only the tables of users, but its shards include those of internal tables. */
function describeTables({ tables, shards }: StatusAnswer): string {
  const own = new Set(shards.map(({ table }) => table).filter((name) => name.startsWith('_'))).size
  return own === 0 ? plural(tables, 'table') : `${plural(tables, 'table')} (+ ${own} internal)`
}

function describeStatus(status: ShownStatus, url: string, screen: Output): string {
  const style = HEALTH_STYLES.get(status.health) ?? 'yellow'
  const mode = status.swarmMode ? 'swarm mode' : `cluster ${printable(status.clusterName)}`.trim()
  const lines = [
    `${paint(screen, style, '●')} ${paint(screen, 'bold', status.health)}  ${printable(status.message)}`,
    paint(
      screen,
      'dim',
      `  ${url} · version ${printable(status.version)} · ${mode} · ${describeTables(status)}`,
    ),
  ]
  if (status.shown.length === 0) return lines.join('\n')
  const shards = status.shown.toSorted(
    (a, b) => a.table.localeCompare(b.table) || a.id.localeCompare(b.id),
  )
  const columns = [
    { title: 'TABLE' },
    { title: 'SHARD' },
    { title: 'STATE' },
    { title: 'INTENTS', align: 'right' },
    { title: 'MESSAGE' },
  ] as const
  const rows = shards.map(({ table, id, state, pendingIntents, message }) => [
    table,
    id,
    state.replace('_', ' '),
    String(pendingIntents),
    message,
  ])
  return [...lines, '', formatTable(columns, rows, screen)].join('\n')
}
