// What the builders would write now, as the machines compare it with what is there. Pure.

import type { ClusterView } from '../machines/observed/cluster-view.ts'
import type { Desired } from '../machines/observed/observed.ts'
import { templateFactsOf } from '../observe/set-view.ts'
import { buildEtcdSet } from '../resources/etcd/etcd-set.ts'
import { buildNodeSet } from '../resources/nodes/node-set.ts'
import type { ClusterInput } from '../resources/parts/cluster-input.ts'
import { quantityBytes } from '../resources/parts/quantity.ts'
import { claimSizeOf, etcdClaimSizeOf } from './decided.ts'

export function desiredOf(cluster: ClusterView, input: ClusterInput): Desired {
  const { etcd } = input.decided
  const etcdTemplate = etcd === undefined ? undefined : buildEtcdSet(input, etcd).spec.template
  const template = templateFactsOf(buildNodeSet(input).spec.template)
  return {
    template,
    etcdTemplate: templateFactsOf(etcdTemplate),
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
