// What the builders would write now, as the machines compare it with what is there. Pure.

import type { V1StatefulSet } from '@kubernetes/client-node'
import { assert } from '../../lib/assert.ts'
import type { ClusterView } from '../machines/observed/cluster-view.ts'
import type { TemplateFacts } from '../machines/observed/kubernetes-view.ts'
import type { Desired } from '../machines/observed/observed.ts'
import { buildEtcdSet } from '../resources/etcd/etcd-set.ts'
import { buildNodeSet } from '../resources/nodes/node-set.ts'
import type { Built } from '../resources/parts/built.ts'
import type { ClusterInput } from '../resources/parts/cluster-input.ts'
import { ANNOTATIONS } from '../resources/parts/names.ts'
import { quantityBytes } from '../resources/parts/quantity.ts'
import { claimSizeOf, etcdClaimSizeOf } from './decided.ts'

export function desiredOf(cluster: ClusterView, input: ClusterInput): Desired {
  const { etcd } = input.decided
  const template = factsOf(buildNodeSet(input))
  return {
    template,
    etcdTemplate: etcd === undefined ? NO_TEMPLATE : factsOf(buildEtcdSet(input, etcd)),
    claimBytes: quantityBytes(claimSizeOf(cluster)),
    specClaimBytes: quantityBytes(cluster.spec.nodes.storage.size),
    ...autoGrowOf(cluster),
    etcdClaimBytes: quantityBytes(etcdClaimSizeOf(cluster.spec)),
  }
}

/** The rules of the kind ask for `maxSize` where growth is enabled. */
function autoGrowOf({ spec }: ClusterView): Pick<Desired, 'autoGrow'> {
  const { enabled, thresholdPercent, increment, maxSize } = spec.nodes.storage.autoGrow
  if (!enabled || maxSize === undefined) return {}
  const incrementBytes = quantityBytes(increment)
  return { autoGrow: { thresholdPercent, incrementBytes, maxBytes: quantityBytes(maxSize) } }
}

const NO_TEMPLATE: TemplateFacts = { digest: '', version: '', image: '' }

/** The first container is the server that the pod is for. */
function factsOf({ spec }: Built<V1StatefulSet>): TemplateFacts {
  const { metadata, spec: pod } = spec?.template ?? {}
  const { [ANNOTATIONS.templateDigest]: digest, [ANNOTATIONS.version]: version = '' } =
    metadata?.annotations ?? {}
  const restartedAt = metadata?.annotations?.[ANNOTATIONS.restartedAt]
  const image = pod?.containers[0]?.image
  assert(digest !== undefined && image !== undefined, 'a built template has a digest and an image')
  return { digest, version, image, ...(restartedAt === undefined ? {} : { restartedAt }) }
}
