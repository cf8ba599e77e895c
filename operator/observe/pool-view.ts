// Which objects of a namespace are a pool: a StatefulSet of the cluster with its pods and claims.

import type { ClaimView, PodView, PoolView } from '../machines/observed/kubernetes-view.ts'
import { objectNames, selectorLabels } from '../resources/parts/names.ts'
import type { ClusterIdentity, Component } from '../resources/parts/names.ts'
import type { StoredObject } from '../runtime/api/api-object.ts'
import { claimViewOf } from './claim-view.ts'
import { podViewOf } from './pod-view.ts'
import { CLAIM_TEMPLATE, setViewOf } from './set-view.ts'

/** The status of a StoreCluster takes three digits; a number is written without zeros before it. */
const ORDINAL = /^(?:0|[1-9]\d{0,2})$/

/** What the caches have. Pods and claims of other pools, clusters and namespaces may be among them. */
export interface PoolObjects {
  /** The StatefulSet with the name of the pool's. It may be another owner's. */
  readonly set: StoredObject | undefined
  readonly pods: readonly StoredObject[]
  readonly claims: readonly StoredObject[]
}

/** Which pool of which cluster. */
export interface PoolOf {
  readonly cluster: ClusterIdentity
  readonly component: Component
  readonly isExpandable: (storageClassName: string | undefined) => boolean
}

/**
 * Contract:
 * - Never throws, whatever the objects have beside their metadata.
 * - A set that the UID of the cluster does not own counts as absent, and its pods are not in the pool.
 * - Pods and claims have the labels by which the set selects, and a name that the set gives. They come by ordinal.
 * - Claims are in the pool without regard to who had them: an earlier cluster of the name may have left them.
 */
export function poolViewOf({ set: named, pods, claims }: PoolObjects, of: PoolOf): PoolView {
  const { cluster, component, isExpandable } = of
  const { nodeSet, etcdSet } = objectNames(cluster.name)
  const setName = component === 'node' ? nodeSet : etcdSet
  const set = named !== undefined && isSetOf(named, setName, cluster) ? named : undefined
  const podsOfSet = pods.filter((pod) => isPodOf(pod, { setName, set, named }))
  return {
    set: set === undefined ? undefined : setViewOf(set),
    pods: membersOf(podsOfSet, of, `${setName}-`).map(([pod, ordinal]): PodView =>
      podViewOf(pod, { component, ordinal }),
    ),
    claims: membersOf(claims, of, `${CLAIM_TEMPLATE}-${setName}-`).map(
      ([claim, ordinal]): ClaimView => claimViewOf(claim, { ordinal, isExpandable }),
    ),
  }
}

function isSetOf({ metadata }: StoredObject, name: string, cluster: ClusterIdentity): boolean {
  const { ownerReferences = [] } = metadata
  return (
    metadata.name === name &&
    metadata.namespace === cluster.namespace &&
    ownerReferences.some(({ uid }) => uid === cluster.uid)
  )
}

interface SetOfPods {
  readonly setName: string
  readonly set: StoredObject | undefined
  readonly named: StoredObject | undefined
}

/**
 * Whether a pod is not another set's. One without a controller waits to be adopted: its set was deleted without it. While
 * there is no set the cache of pods may still show the one that they had, by its name: without them, a new set would be
 * made as if no pod ran.
 */
function isPodOf({ metadata }: StoredObject, { setName, set, named }: SetOfPods): boolean {
  const owner = metadata.ownerReferences?.find(({ controller }) => controller === true)
  if (owner === undefined) return true
  if (set !== undefined) return owner.uid === set.metadata.uid
  return owner.kind === 'StatefulSet' && owner.name === setName && owner.uid !== named?.metadata.uid
}

type Numbered = readonly [object: StoredObject, ordinal: number]

/** Those with the labels of the pool and a name that is `start` and a number, by the number. */
function membersOf(
  objects: readonly StoredObject[],
  { cluster, component }: PoolOf,
  start: string,
): readonly Numbered[] {
  const labels = Object.entries(selectorLabels(cluster.name, component))
  return objects
    .filter(
      ({ metadata }) =>
        metadata.namespace === cluster.namespace &&
        labels.every(([name, value]) => metadata.labels?.[name] === value),
    )
    .flatMap((object): Numbered[] => {
      const { name } = object.metadata
      const digits = name.startsWith(start) ? name.slice(start.length) : ''
      return ORDINAL.test(digits) ? [[object, Number(digits)]] : []
    })
    .toSorted(([, one], [, other]) => one - other)
}
