// The nodes of a cluster: all of a small one; of a large one those that are not well, and the rest summed up.

import { ownCommand, shellWord } from '../../lib/own-command.ts'
import type { ClusterMember, ClusterVolume } from '../../operator/kinds/cluster/status.ts'
import type { Style } from '../process/terminal.ts'
import { formatCount, plural } from '../render/quantity.ts'
import { formatTable } from '../render/text-table.ts'
import type { ClusterReport } from './cluster-report.ts'
import { dim, wrapped } from './view-lines.ts'
import type { Lines, ReportView } from './view-lines.ts'

/** Twelve nodes fit on a screen beside everything else. */
const NODES_SHOWN_MAX = 12
/** As the condition Degraded tells of it. */
export const NEARLY_FULL_PERCENT = 85
const READY = 'ready'
const ASLEEP = 'asleep'

/** A node and what is known of its pod and volume. */
interface Node {
  readonly member: ClusterMember
  readonly state: string
  readonly volume: ClusterVolume | undefined
}

export function nodeLines(report: ClusterReport, view: ReportView): Lines {
  const nodes = nodesOf(report)
  if (nodes.length === 0) return []
  const isShort = nodes.length > NODES_SHOWN_MAX && !view.isWhole
  const shown = isShort ? nodes.filter(isOfInterest).slice(0, NODES_SHOWN_MAX) : nodes
  const rest = nodes.filter((node) => !shown.includes(node))
  const table = shown.length === 0 ? [] : [nodeTable(shown, view)]
  return rest.length === 0 ? table : [...table, ...restLines(rest, report, view)]
}

function nodesOf({ status, pods }: ClusterReport): readonly Node[] {
  const members = status?.members ?? []
  const volumes = new Map((status?.volumes ?? []).map((volume) => [volume.claimName, volume]))
  return members
    .toSorted((one, other) => one.ordinal - other.ordinal)
    .map((member) => ({
      member,
      state: status?.phase === 'Hibernated' && !member.ready ? ASLEEP : stateOf(member, pods),
      volume: volumes.get(`data-${member.podName}`),
    }))
}

/** The reason that Kubernetes gives for a pod says more than "not ready". */
function stateOf(
  { podName, ready, draining, inferenceReady }: ClusterMember,
  pods: ClusterReport['pods'],
): string {
  const pod = pods.find(({ name }) => name === podName)
  const isListed = pods.length > 0
  const isGone = pod === undefined && isListed
  if (!ready) return pod?.problem?.reason ?? (isGone ? 'no pod' : 'not ready')
  const parts = [
    ...(draining === true ? ['draining'] : [READY]),
    ...(inferenceReady === false ? ['no inference'] : []),
  ]
  return parts.join(', ')
}

function isOfInterest({ state, volume }: Node): boolean {
  return state !== READY || (volume?.usedPercent ?? 0) >= NEARLY_FULL_PERCENT
}

function nodeTable(nodes: readonly Node[], view: ReportView): string {
  const hasZones = nodes.some(({ member }) => (member.zone ?? '') !== '')
  const columns = [
    { title: 'NODE' },
    ...(hasZones ? [{ title: 'ZONE' }] : []),
    { title: 'VERSION' },
    { title: 'STATE', styleOf: stateStyle },
    { title: 'LEADERS', align: 'right' },
    { title: 'REPLICAS', align: 'right' },
    { title: 'VOLUME' },
    { title: 'USED', align: 'right', styleOf: usedStyle },
  ] as const
  const rows = nodes.map(({ member, state, volume }) => [
    member.podName,
    ...(hasZones ? [member.zone ?? '-'] : []),
    member.version ?? '-',
    state,
    countText(member.leaderCount),
    replicasText(member),
    sizeText(volume),
    volume?.usedPercent === undefined ? '-' : `${volume.usedPercent} %`,
  ])
  return formatTable(columns, rows, view.screen)
}

function stateStyle(state: string): Style {
  if (state === READY) return 'green'
  if (state === ASLEEP) return 'blue'
  return state.startsWith(READY) || state.startsWith('draining') ? 'yellow' : 'red'
}

function usedStyle(used: string): Style | undefined {
  return Number.parseInt(used, 10) >= NEARLY_FULL_PERCENT ? 'red' : undefined
}

function countText(count: number | undefined): string {
  return count === undefined ? '-' : formatCount(count)
}

function replicasText({ replicaCount, underReplicated = 0 }: ClusterMember): string {
  const lacking = underReplicated === 0 ? '' : ` (${formatCount(underReplicated)} lack others)`
  return countText(replicaCount) + lacking
}

/** The size of the volume, and the wished size if it differs. */
export function sizeText(volume: ClusterVolume | undefined): string {
  const { requested, capacity } = volume ?? {}
  if (capacity === undefined) return requested === undefined ? '-' : `→ ${requested}`
  return requested === undefined || requested === capacity ? capacity : `${capacity} → ${requested}`
}

function restLines(
  rest: readonly Node[],
  { cluster, namespace }: ClusterReport,
  view: ReportView,
): Lines {
  const well = rest.filter(({ state }) => state === READY).length
  const leaders = rest.reduce((sum, { member }) => sum + (member.leaderCount ?? 0), 0)
  const replicas = rest.reduce((sum, { member }) => sum + (member.replicaCount ?? 0), 0)
  const usedPercent = Math.max(-1, ...rest.map(({ volume }) => volume?.usedPercent ?? -1))
  const parts = [
    `${plural(rest.length, 'more node')}, ${well === rest.length ? 'all' : formatCount(well)} ready`,
    `${formatCount(leaders)} leaders`,
    `${formatCount(replicas)} replicas`,
    ...(usedPercent < 0 ? [] : [`volumes up to ${usedPercent} % full`]),
  ]
  const words = `k8s status ${shellWord(cluster)} -n ${shellWord(namespace)} --all`
  const sentence = `${parts.join(', ')}; each of them: ${ownCommand(words)}`
  return wrapped(sentence, view, '').map((line) => dim(view, line))
}
