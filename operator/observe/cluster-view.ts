import { CLEANUP_FINALIZER, STORE_CLUSTER_ANNOTATIONS } from '../kinds/cluster/store-cluster.ts'
import type { StoreCluster } from '../kinds/cluster/store-cluster.ts'
import type { ClusterView, Overrides } from '../machines/observed/cluster-view.ts'
import type { StoredObject } from '../runtime/api/api-object.ts'
import { NOT_YET_MS, timeMsAt } from './json-fields.ts'

/** The status of a StoreCluster takes three digits. */
const ORDINAL = /^(?:0|[1-9]\d{0,2})$/

/** `cluster` is what was read of `object`. */
export function clusterViewOf(object: StoredObject, cluster: StoreCluster): ClusterView {
  const { uid, resourceVersion, finalizers = [], annotations = {} } = object.metadata
  const { name, namespace, generation } = cluster.metadata
  return {
    name,
    namespace,
    uid,
    resourceVersion,
    generation,
    hasFinalizer: finalizers.includes(CLEANUP_FINALIZER),
    ...deletion(object),
    overrides: overridesOf(annotations),
    spec: cluster.spec,
    status: cluster.status,
  }
}

function deletion(object: StoredObject): Pick<ClusterView, 'deletedAtMs'> {
  if (object.metadata.deletionTimestamp === undefined) return {}
  return { deletedAtMs: timeMsAt(object, 'metadata', 'deletionTimestamp') ?? NOT_YET_MS }
}

/** These switch safeguards off, so that a value which is nearly right counts for nothing. */
function overridesOf(annotations: Readonly<Record<string, string>>): Overrides {
  const { paused, allowDowngrade, skipHealthGate, forceDrainOrdinal } = STORE_CLUSTER_ANNOTATIONS
  const ordinal = annotations[forceDrainOrdinal]
  return {
    isPaused: annotations[paused] === 'true',
    allowsDowngrade: annotations[allowDowngrade] === 'true',
    skipsHealthGate: annotations[skipHealthGate] === 'true',
    ...(ordinal !== undefined && ORDINAL.test(ordinal)
      ? { forceDrainOrdinal: Number(ordinal) }
      : {}),
  }
}
