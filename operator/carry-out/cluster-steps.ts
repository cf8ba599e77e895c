// Steps about the StoreCluster itself.

import { CLEANUP_FINALIZER, STORE_CLUSTER } from '../kinds/cluster/store-cluster.ts'
import type { ResourceKind } from '../runtime/api/api-object.ts'
import { addFinalizer, removeFinalizer } from '../runtime/writes/finalizers.ts'
import type { Handlers, Hands } from './step-context.ts'

const { group, version, plural, kind } = STORE_CLUSTER

export const CLUSTER_KIND: ResourceKind = { group, version, plural, kind, namespaced: true }

export const CLUSTER_STEPS: Handlers<'add_finalizer' | 'remove_finalizer'> = {
  add_finalizer: async (_step, hands) => {
    await addFinalizer(hands.api, changeOf(hands), hands.signal)
    return 'done'
  },
  remove_finalizer: async (_step, hands) => {
    await removeFinalizer(hands.api, changeOf(hands), hands.signal)
    // Nothing is applied for this cluster again.
    for (const wish of hands.context.wishes.values()) hands.applier.forget(wish.kind, wish.object)
    return 'done'
  },
}

function changeOf({ context }: Hands) {
  return { kind: CLUSTER_KIND, object: context.cluster, finalizer: CLEANUP_FINALIZER }
}
