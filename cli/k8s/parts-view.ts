// Volumes and members of etcd, where their sum in the facts does not tell enough.

import type { ClusterVolume, EtcdMember } from '../../operator/kinds/cluster/status.ts'
import { formatBytes } from '../render/quantity.ts'
import { formatTable } from '../render/text-table.ts'
import type { Style } from '../process/terminal.ts'
import type { ClusterReport } from './cluster-report.ts'
import { NEARLY_FULL_PERCENT, sizeText } from './nodes-view.ts'
import { dim, title } from './view-lines.ts'
import type { Lines, ReportView } from './view-lines.ts'

const VOLUMES_SHOWN_MAX = 8

/** Volumes that are not bound, grow, or are nearly full. Sizes and use of those of nodes are beside the nodes. */
export function volumeLines({ status }: ClusterReport, view: ReportView): Lines {
  const found = (status?.volumes ?? []).filter(isOfInterest)
  if (found.length === 0) return []
  const shown = found.slice(0, VOLUMES_SHOWN_MAX)
  const columns = [
    { title: 'VOLUME' },
    { title: 'STATE', styleOf: volumeStyle },
    { title: 'SIZE' },
    { title: 'USED', align: 'right' },
  ] as const
  const rows = shown.map((volume) => [
    volume.claimName,
    volume.state,
    sizeText(volume),
    volume.usedPercent === undefined ? '-' : `${volume.usedPercent} %`,
  ])
  const more = found.length - shown.length
  return [
    title(view, 'Volumes that are not settled'),
    formatTable(columns, rows, view.screen),
    ...(more > 0 ? [dim(view, `and ${more} more`)] : []),
  ]
}

function isOfInterest(volume: ClusterVolume): boolean {
  const { component, state, requested, capacity, usedPercent = 0 } = volume
  if (component === 'Node') return state !== 'Bound'
  const isGrowing = requested !== undefined && requested !== capacity
  return state !== 'Bound' || isGrowing || usedPercent >= NEARLY_FULL_PERCENT
}

function volumeStyle(state: string): Style {
  if (state === 'Bound') return 'green'
  return state === 'Lost' || state === 'ResizeFailed' ? 'red' : 'yellow'
}

/** A line for each member, if one of them does not answer or does not vote, or if etcd has an alarm. */
export function etcdLines({ status, pods }: ClusterReport, view: ReportView): Lines {
  const { members = [], leader, alarms = [] } = status?.etcd ?? {}
  const isWell = members.every(({ ready, learner }) => ready && learner !== true)
  const isUsual = (isWell && alarms.length === 0) || status?.phase === 'Hibernated'
  if (members.length === 0 || isUsual) return []
  const columns = [
    { title: 'ETCD' },
    { title: 'STATE', styleOf: memberStyle },
    { title: 'ROLE' },
    { title: 'VERSION' },
    { title: 'SIZE', align: 'right' },
  ] as const
  const rows = members.map((member) => [
    member.name,
    memberState(member, pods),
    roleOf(member, leader),
    member.version ?? '-',
    member.dbSize === undefined ? '-' : formatBytes(member.dbSize),
  ])
  return [formatTable(columns, rows, view.screen)]
}

function memberState({ name, ready }: EtcdMember, pods: ClusterReport['pods']): string {
  if (ready) return 'ready'
  const pod = pods.find((one) => one.name === name)
  return (
    pod?.problem?.reason ?? (pod === undefined && pods.length > 0 ? 'no pod' : 'does not answer')
  )
}

function roleOf({ name, learner, ready }: EtcdMember, leader: string | undefined): string {
  if (learner === true) return 'learner'
  if (name === leader) return 'leader'
  return ready ? 'follower' : '-'
}

function memberStyle(state: string): Style {
  return state === 'ready' ? 'green' : 'red'
}
