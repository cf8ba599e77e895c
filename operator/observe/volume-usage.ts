// How full the volumes of nodes are: Kubernetes does not say, and the nodes that use them do.

import type { ClaimView, PoolView } from '../machines/observed/kubernetes-view.ts'
import type { StoreNode, StoreView } from '../machines/observed/store-view.ts'
import { objectNames } from '../resources/parts/names.ts'

/** Nodes are named as their pods, and a pod has the claim of its ordinal. Of a node that is not there nothing is known. */
export function withUsage(
  pool: PoolView,
  store: StoreView | 'unreachable',
  cluster: string,
): PoolView {
  if (store === 'unreachable') return pool
  const { nodeSet } = objectNames(cluster)
  const claims = pool.claims.map((claim): ClaimView => {
    const disk = diskOf(store.nodes, `${nodeSet}-${claim.ordinal}`)
    return disk === undefined ? claim : { ...claim, usedPercent: usedPercentOf(disk) }
  })
  return { ...pool, claims }
}

/** A former node of the name, whose volume is gone, is away. */
function diskOf(nodes: readonly StoreNode[], name: string): StoreNode['disk'] {
  return nodes.find((node) => node.name === name && node.disk !== undefined)?.disk
}

/** 100 only when nothing is left: what is rounded up would be called full. */
function usedPercentOf({ totalBytes, freeBytes }: NonNullable<StoreNode['disk']>): number {
  if (totalBytes <= 0) return 100
  const used = Math.floor((100 * (totalBytes - freeBytes)) / totalBytes)
  return Math.min(100, Math.max(0, used))
}
