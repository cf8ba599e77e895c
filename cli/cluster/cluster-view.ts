// Shows a cluster, its nodes and its shards to a person.

import { formatBytes, formatCount, formatDuration, plural } from '../render/quantity.ts'
import { formatTable } from '../render/text-table.ts'
import { printable } from '../../lib/process/log-words.ts'
import { paint } from '../process/terminal.ts'
import type { Output, Style } from '../process/terminal.ts'
import type {
  ClusterShardAnswer,
  MoveAnswer,
  NodeAnswer,
  ReplicaAnswer,
  SummaryAnswer,
  WaitingAnswer,
} from '../service/cluster-answers.ts'
import { namesOf, type ShortNames } from './node-names.ts'

const HEALTH_STYLES = new Map<string, Style>([
  ['healthy', 'green'],
  ['degraded', 'yellow'],
])

/** The worst troubles are red: their shards refuse reads or writes. */
const TROUBLE_STYLES = new Map<string, Style>([
  ['unplaced', 'red'],
  ['leaderless', 'red'],
  ['below minimum', 'red'],
  ['under replicated', 'yellow'],
  ['misplaced', 'yellow'],
])

const CONDITION_STYLES = new Map<string, Style>([
  ['serving', 'green'],
  ['leaving', 'yellow'],
  ['away', 'yellow'],
  ['lost', 'red'],
])

export function describeCluster(
  summary: SummaryAnswer,
  nodes: readonly NodeAnswer[],
  { url, screen }: { readonly url: string; readonly screen: Output },
): string {
  const { health, message, version, mode, name, waiting } = summary
  const style = HEALTH_STYLES.get(health) ?? 'red'
  const called = mode === 'swarm' ? 'swarm mode' : `cluster ${name}`
  const lines = [
    `${paint(screen, style, '●')} ${paint(screen, 'bold', health)}  ${printable(message)}`,
    paint(screen, 'dim', `  ${url} · version ${printable(version)} · ${printable(called)}`),
    '',
    ...describeCounts(summary, namesOf(nodes), screen),
    '',
    describeNodes(nodes, screen),
  ]
  const unreached = nodes.filter((node) => node.unreached !== '')
  if (unreached.length > 0) lines.push('', describeUnreached(unreached, nodes, screen))
  if (waiting.length > 0) lines.push('', describeWaiting(waiting, screen))
  return lines.join('\n')
}

function describeCounts(
  { nodes, shards, moves, controller, keysAccepted }: SummaryAnswer,
  short: ShortNames,
  screen: Output,
): readonly string[] {
  const elected = controller === '' ? paint(screen, 'yellow', 'none elected') : short(controller)
  const facts = [
    ['nodes', describeNodeCounts(nodes)],
    ['shards', describeShardCounts(shards, screen)],
    ['moves', formatCount(moves)],
    ['controller', elected],
    ...(keysAccepted === 0 ? [] : [['keys', describeOldKeys(keysAccepted, screen)] as const]),
  ] as const
  return facts.map(([title, value]) => `${paint(screen, 'dim', title.padEnd(12))}${value}`)
}

/** The old secret is needed until every model key is under the new one. */
function describeOldKeys(count: number, screen: Output): string {
  return paint(screen, 'yellow', `${plural(count, 'model key')} under another accepted secret`)
}

function describeNodeCounts(nodes: ReadonlyMap<string, number>): string {
  const named = [...nodes].filter(([, count]) => count > 0)
  return named.map(([condition, count]) => `${formatCount(count)} ${condition}`).join(', ')
}

function describeShardCounts(shards: ReadonlyMap<string, number>, screen: Output): string {
  const troubles = [...shards].filter(([trouble, count]) => trouble !== 'total' && count > 0)
  const named = troubles.map(([trouble, count]) => {
    const shown = words(trouble)
    return paint(screen, TROUBLE_STYLES.get(shown) ?? 'red', `${formatCount(count)} ${shown}`)
  })
  return [formatCount(shards.get('total') ?? 0), ...named].join(', ')
}

export function describeNodes(nodes: readonly NodeAnswer[], screen: Output): string {
  const short = namesOf(nodes)
  const hasZones = nodes.some(({ zone }) => zone !== '')
  const columns = [
    { title: 'NODE' },
    ...(hasZones ? [{ title: 'ZONE' }] : []),
    { title: 'STATE', styleOf: (cell: string) => CONDITION_STYLES.get(cell) ?? 'yellow' },
    { title: 'API' },
    { title: 'VERSION' },
    { title: 'REPLICAS', align: 'right' },
    { title: 'LEADERS', align: 'right' },
    { title: 'IN', align: 'right' },
    { title: 'OUT', align: 'right' },
    { title: 'DISK FREE', align: 'right' },
    { title: 'SAFE TO STOP' },
  ] as const
  const rows = nodes.map((node) => [
    short(node.id),
    ...(hasZones ? [node.zone || '-'] : []),
    stateOf(node),
    node.api || '-',
    node.version || '-',
    formatCount(node.replicas),
    formatCount(node.leaders),
    formatCount(node.movesIn),
    formatCount(node.movesOut),
    diskOf(node),
    node.isSafeToStop ? 'yes' : `no: ${node.neededFor}`,
  ])
  return formatTable(columns, rows, screen)
}

function diskOf({ disk }: NodeAnswer): string {
  if (disk === undefined) return '-'
  return `${formatBytes(disk.freeBytes)} of ${formatBytes(disk.totalBytes)}`
}

function stateOf({ state, condition, emptying, heldUntil }: NodeAnswer): string {
  if (emptying === undefined) return heldUntil === '' ? condition : `${condition}, held`
  if (emptying.isDone) return state === 'decommissioned' ? state : 'drained'
  const wish = state === 'decommissioned' ? 'decommissioned' : 'draining'
  return condition === 'emptying' ? wish : `${wish}, ${condition}`
}

export function describeShards(
  shards: readonly ClusterShardAnswer[],
  nodes: readonly NodeAnswer[],
  screen: Output,
): string {
  if (shards.length === 0) return 'no such shards'
  const short = namesOf(nodes)
  const columns = [
    { title: 'TABLE' },
    { title: 'SHARD' },
    { title: 'LEADER', styleOf: (cell: string) => (cell === 'none' ? 'red' : undefined) },
    { title: 'EPOCH', align: 'right' },
    { title: 'IN SYNC', align: 'right' },
    { title: 'OTHERS' },
    { title: 'TROUBLE', styleOf: (cell: string) => TROUBLE_STYLES.get(cell) },
    { title: 'NOW' },
  ] as const
  const rows = shards
    .toSorted(byTable)
    .map((shard) => [
      shard.table,
      shard.id,
      shard.leader === '' ? 'none' : short(shard.leader),
      formatCount(shard.epoch),
      `${shard.replicas.filter(({ isInSync }) => isInSync).length}/${shard.replicationFactor}`,
      othersOf(shard, short),
      shard.trouble === '' ? '-' : words(shard.trouble),
      nowOf(shard, short),
    ])
  return formatTable(columns, rows, screen)
}

/** `+` is in sync; a replica that lacks entries has its lag behind it, where the leader has said. */
function othersOf({ leader, replicas }: ClusterShardAnswer, short: ShortNames): string {
  const others = replicas.filter(({ node }) => node !== leader)
  const named = others.map((replica) => {
    const behind = behindOf(replica)
    return `${replica.isInSync ? '+' : '…'}${short(replica.node)}${behind}`
  })
  return named.join(' ') || '-'
}

function behindOf({ lag = 0, lagMs = 0 }: ReplicaAnswer): string {
  if (lag === 0) return ''
  const since = lagMs < 1000 ? '' : ` for ${formatDuration(lagMs)}`
  return ` (${formatCount(lag)} behind${since})`
}

function nowOf({ move, waits }: ClusterShardAnswer, short: ShortNames): string {
  if (move !== undefined) return describeMove(move, short)
  return waits
}

export function describeMove({ from, to, phase, bytes }: MoveAnswer, short: ShortNames): string {
  const way = from === '' ? `to ${short(to)}` : `${short(from)} → ${short(to)}`
  const size = bytes === 0 ? '' : `, ${formatBytes(bytes)}`
  return `${way}: ${words(phase)}${size}`
}

function describeWaiting(waiting: readonly WaitingAnswer[], screen: Output): string {
  const rows = waiting.map(({ table, shard, reason }) => [table, shard, reason])
  const title = paint(screen, 'bold', `${plural(waiting.length, 'shard')} waiting`)
  const columns = [{ title: 'TABLE' }, { title: 'SHARD' }, { title: 'WHY' }] as const
  return `${title}\n${formatTable(columns, rows, screen)}`
}

function describeUnreached(
  unreached: readonly NodeAnswer[],
  nodes: readonly NodeAnswer[],
  screen: Output,
): string {
  const called = namesOf(nodes)
  const rows = unreached.map((node) => [called(node.id), node.unreached])
  const title = paint(screen, 'bold', `${plural(rows.length, 'node')} without replicas`)
  return `${title}\n${formatTable([{ title: 'NODE' }, { title: 'WHY' }], rows, screen)}`
}

function byTable(a: ClusterShardAnswer, b: ClusterShardAnswer): number {
  return a.table.localeCompare(b.table) || a.id.localeCompare(b.id)
}

function words(name: string): string {
  return name.replaceAll('_', ' ')
}
