// Files that are made from others: what the chart packs of crds/ and ops/, plain manifests for people without Helm, and
// the snapshots of what the chart renders. `npm run chart` writes them; the tests compare.

import { globSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { NAMESPACE, renderChart, ROOT } from './helm.ts'

/** The content of each file by its path from the root. */
export type Files = ReadonlyMap<string, string>

const CHART_FILES = 'charts/quarry/files'
const ALERTS = ['alerts.yaml', 'operator-alerts.yaml']
const MADE = '# Made by `npm run chart`; change the chart, or crds/, instead.\n'

const read = (file: string): string => readFileSync(path.join(ROOT, file), 'utf8')
const crds = (): readonly string[] => globSync('crds/*.yaml', { cwd: ROOT }).toSorted()

/** Copies, which need no Helm. */
export function copiedFiles(): Files {
  const plain = crds().map((file) => `---\n${read(file).replace(/^---\n/, '')}`)
  return new Map([
    ...ALERTS.map((name) => [`${CHART_FILES}/${name}`, read(`ops/prometheus/${name}`)] as const),
    ...crds().map((file) => [`${CHART_FILES}/${file}`, read(file)] as const),
    ...(plain.length === 0 ? [] : [['deploy/crds.yaml', MADE + plain.join('')] as const]),
  ])
}

export async function renderedFiles(): Promise<Files> {
  const files = new Map<string, string>()
  files.set('deploy/operator.yaml', MADE + (await plainManifests()))
  files.set('test/golden/chart/default.yaml', await snapshot())
  for (const profile of globSync('charts/quarry/profiles/*.yaml', { cwd: ROOT }).toSorted()) {
    const values = `--values=${path.join(ROOT, profile)}`
    files.set(`test/golden/chart/${path.basename(profile)}`, await snapshot(values))
  }
  return files
}

/** What is not a file of crds/: tests compare those with what the chart makes of them. */
const WITHOUT_CRDS = ['--set=crds.install=false', '--set=deletionProtection.enabled=false']

function snapshot(...args: readonly string[]): Promise<string> {
  return renderChart(...WITHOUT_CRDS, ...args)
}

async function plainManifests(): Promise<string> {
  const rendered = await renderChart(...WITHOUT_CRDS, '--skip-tests')
  // Helm does not look after them.
  return namespaceManifest() + rendered.replaceAll('managed-by: Helm', 'managed-by: kubectl')
}

function namespaceManifest(): string {
  return `---
apiVersion: v1
kind: Namespace
metadata:
  name: ${NAMESPACE}
  labels:
    pod-security.kubernetes.io/enforce: restricted
`
}
