import type { V1ServiceAccount } from '@kubernetes/client-node'
import type { Built } from '../parts/built.ts'
import type { ClusterInput } from '../parts/cluster-input.ts'
import { metadataOf } from '../parts/metadata.ts'
import { objectNames } from '../parts/names.ts'
import { withoutOwned } from '../parts/pods.ts'

/** None if the spec names one that exists. No pod gets a token of it. */
export function serviceAccounts({ cluster }: ClusterInput) {
  const { name, annotations } = cluster.spec.serviceAccount
  if (name !== undefined) return []
  const metadata = annotations === undefined ? {} : { annotations: withoutOwned(annotations) }
  return [
    {
      apiVersion: 'v1',
      kind: 'ServiceAccount',
      metadata: metadataOf(cluster, objectNames(cluster.name).serviceAccount, metadata),
      automountServiceAccountToken: false,
    } satisfies Built<V1ServiceAccount>,
  ]
}
