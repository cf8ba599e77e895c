// What a cluster has, summed up, and the operation that it is in.

import { printable } from '../../lib/process/log-words.ts'
import type { ClusterOperation } from '../../operator/kinds/cluster/operation.ts'
import type { ClusterVolume, StoreClusterStatus } from '../../operator/kinds/cluster/status.ts'
import { formatBytes, formatCount, plural } from '../render/quantity.ts'
import { ageText } from './age-text.ts'
import type { ClusterReport } from './cluster-report.ts'
import { dim, wrapped } from './view-lines.ts'
import type { Lines, ReportView } from './view-lines.ts'

const TITLE_COLUMNS = 11

type Fact = readonly [title: string, lines: readonly string[]]

export function factLines(report: ClusterReport, view: ReportView): Lines {
  const { status } = report
  if (status === undefined) return []
  const facts: readonly Fact[] = [
    ['nodes', nodesFact(status)],
    ['shards', shardsFact(status)],
    ['volumes', volumesFact(status)],
    ['etcd', etcdFact(status)],
    ['operation', operationFact(report, view)],
  ]
  const indent = ' '.repeat(TITLE_COLUMNS)
  return facts.flatMap(([title, texts]) =>
    texts
      .flatMap((text) => wrapped(printable(text), view, indent))
      .map((line, at) =>
        at === 0 ? dim(view, title.padEnd(TITLE_COLUMNS)) + line.trimStart() : line,
      ),
  )
}

function nodesFact({ nodes }: StoreClusterStatus): readonly string[] {
  if (nodes === undefined) return []
  const { desired, current, ready, updated } = nodes
  const others = [
    ...(current === desired ? [] : [plural(current, 'pod')]),
    ...(current === 0 || updated === desired ? [] : [`${updated} of the newest template`]),
  ]
  return [[`${ready} of ${desired} ready`, ...others].join(', ')]
}

/** Each shard has one leader. */
function shardsFact({ members = [] }: StoreClusterStatus): readonly string[] {
  const known = members.filter(({ leaderCount }) => leaderCount !== undefined)
  if (known.length === 0) return []
  const led = sum(known.map(({ leaderCount = 0 }) => leaderCount))
  const replicas = sum(known.map(({ replicaCount = 0 }) => replicaCount))
  const lacking = sum(known.map(({ underReplicated = 0 }) => underReplicated))
  const trouble = lacking === 0 ? [] : [`${formatCount(lacking)} lack replicas`]
  return [[`${formatCount(led)} led`, `${formatCount(replicas)} replicas`, ...trouble].join(', ')]
}

function volumesFact({ volumes = [], grownSize }: StoreClusterStatus): readonly string[] {
  if (volumes.length === 0) return []
  const bound = volumes.filter(({ state }) => state === 'Bound').length
  const fullest = volumes.reduce((one, other) => (percentOf(other) > percentOf(one) ? other : one))
  const usage =
    percentOf(fullest) < 0
      ? []
      : [`the fullest is ${fullest.claimName} with ${percentOf(fullest)} %`]
  const grown = grownSize === undefined ? [] : [`grown to ${grownSize}`]
  return [[`${bound} of ${volumes.length} bound`, ...usage, ...grown].join(', ')]
}

function percentOf({ usedPercent }: ClusterVolume): number {
  return usedPercent ?? -1
}

function etcdFact({ etcd }: StoreClusterStatus): readonly string[] {
  if (etcd === undefined) return []
  const { ready, desired, leader, dbSize, alarms = [] } = etcd
  const leaderless = ready === 0 ? [] : ['no leader is known']
  const parts = [
    `${ready} of ${desired} ready`,
    ...(leader === undefined ? leaderless : [`${leader} leads`]),
    ...(dbSize === undefined ? [] : [formatBytes(dbSize)]),
    ...alarms.map((alarm) => `alarm ${alarm}`),
  ]
  return [parts.join(', ')]
}

function operationFact({ status }: ClusterReport, { nowMs }: ReportView): readonly string[] {
  const operation = status?.operation
  const waits = waitIn(status)
  if (operation === undefined) {
    return waits === '' ? ['none'] : [`none; the next one waits: ${waits}`]
  }
  const { type, phase, startedAt, stepStartedAt, lastProgressAt } = operation
  const [age, began, moved] = [stepStartedAt ?? startedAt, startedAt, lastProgressAt].map((at) =>
    ageText(at, nowMs),
  )
  const last = moved === age ? '' : `, last moved ${moved} ago`
  return [
    `${type}${aimOf(operation, status)}: ${phase} for ${age}; began ${began} ago${last}`,
    ...(waits === '' ? [] : [`waits: ${waits}`]),
    ...targetsOf(operation),
  ]
}

/** What an operation waits for is in its message; what keeps one from beginning is in Progressing. */
function waitIn(status: StoreClusterStatus | undefined): string {
  const { message = '' } = status?.operation ?? {}
  if (message !== '') return message
  const progressing = status?.conditions?.find(({ type }) => type === 'Progressing')
  return progressing?.reason.startsWith('Waiting') === true ? progressing.message : ''
}

function aimOf(operation: ClusterOperation, status: StoreClusterStatus | undefined): string {
  const { type, fromReplicas, toReplicas, fromSize, toSize, targetOrdinal } = operation
  if (fromReplicas !== undefined && toReplicas !== undefined) {
    return ` from ${fromReplicas} to ${plural(toReplicas, 'node')}`
  }
  if (fromSize !== undefined && toSize !== undefined) return ` from ${fromSize} to ${toSize}`
  const target = status?.targetVersion
  const version = type === 'Upgrade' && target !== undefined ? ` to ${target}` : ''
  return targetOrdinal === undefined ? version : `${version}, at node ${targetOrdinal}`
}

const TARGETS_SHOWN_MAX = 3

function targetsOf({ targets = [] }: ClusterOperation): readonly string[] {
  const left = targets.filter(({ remaining }) => remaining !== undefined)
  if (left.length === 0) return []
  const shown = left
    .toSorted((one, other) => other.ordinal - one.ordinal)
    .slice(0, TARGETS_SHOWN_MAX)
    .map(({ ordinal, remaining = 0 }) => `${formatCount(remaining)} at node ${ordinal}`)
  const more = left.length - shown.length
  const others = more > 0 ? ` and at ${plural(more, 'other')}` : ''
  return [`replicas and leaderships left: ${shown.join(', ')}${others}`]
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0)
}
