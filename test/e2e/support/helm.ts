// Helm, and the chart as it renders.

import path from 'node:path'
import { outputOf } from './program.ts'
import { KUBE, ownBinaries } from './tier.ts'

export const ROOT = path.resolve(import.meta.dirname, '../../..')
export const CHART = path.join(ROOT, 'charts/quarry')
export const NAMESPACE = 'quarry-system'

/** What the chart asks an API server for; `helm template` has none to ask. */
const CAPABILITIES = [
  '--kube-version=1.35.0',
  '--api-versions=admissionregistration.k8s.io/v1/ValidatingAdmissionPolicy',
]

const BUILD_LIMIT_MS = 30 * 60_000

/** Built by test/e2e/kube once; QUARRY_E2E_HELM names another one. */
export async function helmProgram(): Promise<string> {
  const other = process.env['QUARRY_E2E_HELM']
  if (other !== undefined && other !== '') return other
  await outputOf([path.join(KUBE, 'build'), 'helm'], { limitMs: BUILD_LIMIT_MS })
  return path.join(await ownBinaries(), 'helm')
}

export async function helm(...args: readonly string[]): Promise<string> {
  return outputOf([await helmProgram(), ...args])
}

/** The manifests for `args` of `helm template`, such as a profile. */
export function renderChart(...args: readonly string[]): Promise<string> {
  return helm('template', 'quarry', CHART, `--namespace=${NAMESPACE}`, ...CAPABILITIES, ...args)
}
