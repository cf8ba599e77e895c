// The operator in the namespace of a test, installed by the chart from the image of this checkout.

import { CHART, helm } from './helm.ts'
import { etcdImage } from './etcd-image.ts'
import { quarryImage } from './quarry-image.ts'
import type { TestNamespace } from './test-namespace.ts'

const RELEASE = 'quarry'
export const OPERATOR = 'quarry-operator'

/** How the operator is installed. */
interface Installation {
  /** Values of the chart, as `--set` takes them. */
  readonly values?: readonly string[]
  /** Whose clusters it looks after. Usually those of its own namespace alone. */
  readonly watches?: 'its namespace' | 'every namespace'
}

/** Resolves with its image when it leads and serves. */
export async function installOperator(
  namespace: TestNamespace,
  { values = [], watches = 'its namespace' }: Installation = {},
): Promise<string> {
  const { tier, name } = namespace
  const [image, etcd] = [await quarryImage(tier), await etcdImage(tier)]
  const colon = image.lastIndexOf(':')
  const [repository, tag] = [image.slice(0, colon), image.slice(colon + 1)]
  const own = [
    `image.repository=${repository}`,
    `image.tag=${tag}`,
    `clusterImages.etcd=${etcd}`,
    ...(watches === 'its namespace' ? [`watchNamespaces={${name}}`] : []),
    ...values,
  ]
  await helm(
    'upgrade',
    '--install',
    RELEASE,
    CHART,
    `--namespace=${name}`,
    '--take-ownership',
    '--reset-values',
    `--kubeconfig=${tier.kubeconfig}`,
    ...own.map((value) => `--set=${value}`),
  )
  const rollout = ['rollout', 'status', `deployment/${OPERATOR}`, '--timeout=120s']
  await namespace.kubectl(rollout)
  return image
}

export async function uninstallOperator({ tier, name }: TestNamespace): Promise<void> {
  const where = [`--namespace=${name}`, `--kubeconfig=${tier.kubeconfig}`]
  await helm('uninstall', RELEASE, '--ignore-not-found', ...where)
}
