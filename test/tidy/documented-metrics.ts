// What docs/reference/metrics.md, alerts and dashboards say, to compare it with what programs export.

import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import path from 'node:path'
import { expect } from 'chai'
import type { ScrapedFamily } from '../support/servers/scraped-metrics.ts'

const ROOT = path.resolve(import.meta.dirname, '../..')
/** Those that prom-client makes, which are documented there. */
const STANDARD = /^(?:process|nodejs)_/
export const OURS = /\bquarry_\w+\b/g
export const OURS_OR_STANDARD = /\b(?:quarry|process|nodejs)_[a-z]\w*\b/g

export type Families = ReadonlyMap<string, ScrapedFamily>

interface DocumentedMetric {
  readonly name: string
  readonly type: string
  readonly labels: readonly string[]
  readonly help: string
}

/** What it says, if it is content. */
export function promtool(...args: readonly string[]): string {
  const cwd = path.join(ROOT, 'ops/prometheus')
  const { error, status, stdout, stderr } = spawnSync('promtool', args, { cwd, encoding: 'utf8' })
  const need =
    'promtool is needed: it is in the Debian package "prometheus", and in every Prometheus'
  expect(error, need).to.equal(undefined)
  expect(status, stdout + stderr).to.equal(0)
  return stdout
}

export function expectDocumented(families: Families, heading: string): void {
  const documented = metricsUnder(heading)
  const ours = [...families.values()].filter(({ name }) => !STANDARD.test(name))
  expect(documented.map(({ name }) => name)).to.have.members(ours.map(({ name }) => name))
  for (const { name, type, help, labels, samples } of ours) {
    const said = documented.find((one) => one.name === name)
    const withoutLabels = { name, type, help }
    expect(said).to.include(withoutLabels)
    // What has no samples yet does not show its labels.
    if (samples > 0) expect(said?.labels, name).to.have.members([...labels])
  }
}

/** The rows of the tables below a heading of docs/reference/metrics.md. */
function metricsUnder(heading: string): readonly DocumentedMetric[] {
  const [, section = ''] = textOf('docs/reference/metrics.md').split(`\n## ${heading}\n`)
  const lines = (section.split('\n## ')[0] ?? '')
    .split('\n')
    .filter((line) => line.startsWith('| `'))
  return lines.map((line) => {
    const cells = line.split(/(?<!\\)\|/).map((cell) => cell.trim())
    const [, name = '', type = '', labels = '', help = ''] = cells
    return { name: plain(name), type, labels: namesIn(labels, /\w+/g), help: plain(help) }
  })
}

function plain(cell: string): string {
  return cell.replaceAll('`', '').replaceAll(String.raw`\_`, '_')
}

export function namesIn(text: string, pattern: RegExp): readonly string[] {
  return [...new Set([...text.matchAll(pattern)].map(([name]) => name))]
}

export function textOf(file: string): string {
  return readFileSync(path.join(ROOT, file), 'utf8')
}

/** The expressions of all alerts in a file of rules. */
export function expressionsIn(rules: string): readonly string[] {
  const found = [...rules.matchAll(/expr: (?:\|\n(?<block>(?: {10}.*\n)+)|(?<line>.*)\n)/g)]
  expect(found.length).to.equal(rules.match(/- alert:/g)?.length)
  return found.map(({ groups }) => groups?.['block'] ?? groups?.['line'] ?? '')
}

/** Fails unless each panel of a dashboard has a number of its own, on a grid of 24 columns. */
export function expectPanelsFit(dashboard: string): void {
  const { panels } = JSON.parse(dashboard)
  const ids = panels.map(({ id }: Panel) => id)
  const wide = panels.filter(({ gridPos: { x, w } }: Panel) => x + w > 24)

  expect(new Set(ids).size).to.equal(ids.length)
  expect(wide).to.deep.equal([])
}

interface Panel {
  readonly id: number
  readonly gridPos: { readonly x: number; readonly w: number }
}
