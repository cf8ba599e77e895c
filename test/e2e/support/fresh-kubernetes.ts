// A Kubernetes that has nothing of Quarry, for those who begin where a page for newcomers begins.

import path from 'node:path'
import { helm, NAMESPACE, ROOT } from './helm.ts'
import { TestNamespace } from './test-namespace.ts'
import type { Tier } from './tier.ts'

const KIND = 'storeclusters.quarry.dev'
const RELEASE = 'quarry'
/** Where kubectl puts what is applied without a namespace. */
const DEFAULT_NAMESPACE = 'default'

/** The namespaces in which a page for newcomers makes objects. */
export function namespacesOf(tier: Tier): readonly [TestNamespace, TestNamespace] {
  return [new TestNamespace(tier, DEFAULT_NAMESPACE), new TestNamespace(tier, NAMESPACE)]
}

/** Removes the kind, which another installation has left. Clusters are somebody's: with one anywhere it refuses. */
export async function removeKind(tier: Tier): Promise<void> {
  const kinds = await tier.kubectl(['api-resources', '--api-group=quarry.dev', '-o', 'name'])
  const clusters = kinds.includes(KIND)
    ? await tier.kubectl(['get', KIND, '--all-namespaces', '-o', 'name'])
    : ''
  if (clusters !== '') throw new Error(`a page for newcomers begins without clusters: ${clusters}`)
  await tier.kubectl(['delete', '-f', path.join(ROOT, 'crds'), '--ignore-not-found'])
}

/** Removes the operator, all clusters of the default namespace with their volumes, and the kind. */
export async function removeQuarry(tier: Tier): Promise<void> {
  const [clusters, operator] = namespacesOf(tier)
  const where = [`--namespace=${NAMESPACE}`, `--kubeconfig=${tier.kubeconfig}`]
  await helm('uninstall', RELEASE, '--ignore-not-found', '--wait', ...where)
  await clusters.removeClusters()
  const left = ['--selector=app.kubernetes.io/name=quarry', '--timeout=100s']
  await clusters.kubectl(['delete', 'pvc,secret', ...left])
  await removeKind(tier)
  await tier.kubectl(['delete', 'namespace', operator.name, '--ignore-not-found'])
}
