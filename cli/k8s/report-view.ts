// Shows the report of a cluster to a person, on one screen. Everything in it is text of others: `printable` and the
// tables keep control characters from the terminal.

import { printable } from '../../lib/process/log-words.ts'
import { paint } from '../process/terminal.ts'
import type { Style } from '../process/terminal.ts'
import { ageText } from './age-text.ts'
import type { Attention, ClusterReport } from './cluster-report.ts'
import { factLines } from './facts-view.ts'
import { nodeLines } from './nodes-view.ts'
import { etcdLines, volumeLines } from './parts-view.ts'
import { cutLine, dim, title, wrapped } from './view-lines.ts'
import type { Lines, ReportView } from './view-lines.ts'

const EVENTS_SHOWN_MAX = 5
const INDENT = '    '

export function describeReport(report: ClusterReport, view: ReportView): string {
  const parts: readonly Lines[] = [
    headLines(report, view),
    attentionLines(report, view),
    factLines(report, view),
    nodeLines(report, view),
    volumeLines(report, view),
    etcdLines(report, view),
    eventLines(report, view),
    report.gaps.flatMap((gap) => wrapped(printable(gap), view, '')),
  ]
  return parts
    .filter(({ length }) => length > 0)
    .map((lines) => lines.join('\n'))
    .join('\n\n')
}

const PHASE_STYLES = new Map<string, Style>([
  ['Running', 'green'],
  ['Hibernated', 'blue'],
  ['Degraded', 'red'],
  ['Failed', 'red'],
])

function headLines(report: ClusterReport, view: ReportView): Lines {
  const { phase, health, healthMessage = '' } = report.status ?? {}
  const word = phase ?? (report.deleting ? 'Deleting' : 'Unknown')
  const store = health === undefined ? '' : `, store ${health.toLowerCase()}`
  const style = PHASE_STYLES.get(word) ?? 'yellow'
  return [
    `${paint(view.screen, style, '●')} ${title(view, word + store)}`,
    dim(view, cutLine(`  ${printable(placeText(report))}`, view)),
    ...(healthMessage === '' ? [] : wrapped(printable(healthMessage), view, '  ')),
    ...behindLines(report, view),
  ]
}

function placeText(report: ClusterReport): string {
  const { cluster, namespace, context, mode, status } = report
  const place = [
    `${namespace}/${cluster}`,
    `context ${context}`,
    mode,
    versionText(report),
    status?.endpoints?.client ?? '',
  ]
  return place.filter((text) => text !== '').join(' · ')
}

function versionText({ status }: ClusterReport): string {
  const { version = '', targetVersion = '' } = status ?? {}
  if (version === '') return targetVersion === '' ? '' : `version ${targetVersion}`
  return targetVersion === '' || targetVersion === version
    ? `version ${version}`
    : `version ${version} → ${targetVersion}`
}

const NO_OPERATOR =
  'No operator has looked at this cluster yet: install one (docs/how-to/install-operator.md), or read the log of the one that runs.'

/** Whether what is shown is about the newest spec. */
function behindLines({ status, generation }: ClusterReport, view: ReportView): Lines {
  const seen = status?.observedGeneration ?? 0
  if (status !== undefined && seen >= generation) return []
  const sentence =
    status === undefined
      ? NO_OPERATOR
      : `The operator has not looked at the newest spec yet: that is generation ${generation}, and this is about ${seen}.`
  return wrapped(sentence, view, '  ').map((line) => paint(view.screen, 'yellow', line))
}

const URGENT: ReadonlySet<string> = new Set(['Available', 'Degraded', 'SpecValid', 'SecretsReady'])

function attentionLines({ attention }: ClusterReport, view: ReportView): Lines {
  if (attention.length === 0) return []
  return [title(view, 'Needs attention'), ...attention.flatMap((one) => attentionOf(one, view))]
}

function attentionOf(one: Attention, view: ReportView): Lines {
  const { type, status, reason, message, since, act, page } = one
  const age = ageText(since, view.nowMs)
  const style = URGENT.has(type) ? 'red' : 'yellow'
  const head = `${paint(view.screen, style, printable(type))} is ${status}: ${printable(reason)}`
  return [
    `  ${head}${age === '' ? '' : `, for ${age}`}`,
    ...(message === '' ? [] : wrapped(printable(message), view, INDENT)),
    ...wrapped(printable(`${act} (${page})`), view, `${INDENT}  `).map(withArrow),
  ]
}

function withArrow(line: string, at: number): string {
  return at === 0 ? line.replace(`${INDENT}  `, `${INDENT}→ `) : line
}

const AGE_COLUMNS = 11

function eventLines({ events }: ClusterReport, view: ReportView): Lines {
  if (events.length === 0) return []
  const shown = events.slice(0, EVENTS_SHOWN_MAX).map(({ at, type, reason, message, count }) => {
    const age = ageText(at, view.nowMs).padStart(AGE_COLUMNS)
    const times = count > 1 ? ` (${count} times)` : ''
    const word = printable(reason)
    const text = message === '' ? '' : `: ${printable(message)}`
    const style = type === 'Warning' ? 'yellow' : 'green'
    return cutLine(`${age}  ${word}${times}${text}`, view, { word, style })
  })
  return [title(view, 'Last events'), ...shown]
}
