// Findings as aligned Markdown tables: readable in a terminal, and ready for docs/lab/benchmarks.md.

import { judge } from './finding.ts'
import type { Finding, Goal, LatencyFinding } from './finding.ts'
import { median } from './statistics.ts'
import type { Spread } from './statistics.ts'

export function renderFindings(findings: readonly Finding[]): string {
  const head = ['row', 'ours', 'peer', 'ratio', 'min to max', 'goal', 'verdict']
  return renderTable(head, findings.map(findingCells))
}

function findingCells(finding: Finding): readonly string[] {
  const { ours, peer, ratio, verdict } = judge(finding)
  const spread = ratio ?? ours
  const format = ratio === undefined ? formatNumber : formatRatio
  return [
    finding.label,
    `${formatNumber(ours.median)} ${finding.unit}`,
    peer === undefined || finding.kind === 'value'
      ? ''
      : `${formatNumber(peer.median)} ${finding.unit} (${finding.peerName})`,
    ratio === undefined ? '' : formatRatio(ratio.median),
    formatSpread(spread, format),
    finding.goal === undefined ? '' : formatGoal(finding.goal, finding),
    verdict === 'no goal' ? '' : verdict,
  ]
}

function formatSpread({ min, max }: Spread, format: (value: number) => string): string {
  return min === max ? '' : `${format(min)} to ${format(max)}`
}

const GOAL_SIGN: Record<Goal['kind'], string> = { 'at-least': '≥', 'at-most': '≤', below: '<' }

function formatGoal({ kind, value }: Goal, finding: Finding): string {
  const unit = finding.kind === 'ratio' ? '' : ` ${finding.unit}`
  return `${GOAL_SIGN[kind]} ${value}${unit}`
}

export function renderLatencies(latencies: readonly LatencyFinding[]): string {
  const head = ['work', 'clients', 'side', 'p50 ms', 'p95 ms', 'p99 ms']
  const cells = latencies.map(({ label, clients, side, p50Ms, p95Ms, p99Ms }) => [
    label,
    String(clients),
    side,
    formatNumber(median(p50Ms)),
    formatNumber(median(p95Ms)),
    formatNumber(median(p99Ms)),
  ])
  return renderTable(head, cells)
}

export function renderTable(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const widths = head.map((title, column) =>
    Math.max(title.length, ...rows.map((row) => (row[column] ?? '').length)),
  )
  const line = (cells: readonly string[]): string =>
    `| ${widths.map((width, column) => (cells[column] ?? '').padEnd(width)).join(' | ')} |`
  const rule = widths.map((width) => '-'.repeat(width))
  return [line(head), line(rule), ...rows.map(line)].join('\n')
}

/** Three significant digits, which is more than these measurements are worth. */
export function formatNumber(value: number): string {
  if (Math.abs(value) >= 100) return Math.round(value).toLocaleString('en')
  return value.toFixed(Math.abs(value) >= 10 ? 1 : 2)
}

function formatRatio(value: number): string {
  return value >= 10 ? value.toFixed(1) : value.toFixed(2)
}
