import type { StoreClusterSpec } from '../../kinds/cluster/spec.ts'

/** The spec as the machines read it: every default filled in, every unit in the name. */
export interface Wanted {
  readonly isSingleNode: boolean
  readonly hasManagedEtcd: boolean
  readonly replicas: number
  readonly etcdReplicas: number
  readonly isHibernated: boolean
  readonly rollsPods: boolean
  readonly pods: {
    readonly unavailableMax: number
    readonly minReadyMs: number
    readonly timeoutMs: number
    readonly graceMs: number
  }
  /** Whether the store has to be healthy between two pods, and not only have all replicas in sync. */
  readonly requiresHealth: boolean
  readonly scaleUpMax: number
  readonly stallTimeoutMs: number
  readonly deletesClaimsWith: { readonly cluster: boolean; readonly ordinal: boolean }
}

export function wantedOf(spec: StoreClusterSpec): Wanted {
  const isSingleNode = spec.mode === 'SingleNode'
  const isManaged = hasManagedEtcd(spec)
  const { persistentVolumeClaimRetentionPolicy: retention } = spec
  return {
    isSingleNode,
    hasManagedEtcd: isManaged,
    replicas: isSingleNode ? 1 : spec.nodes.replicas,
    etcdReplicas: isManaged ? (spec.etcd?.replicas ?? ETCD_REPLICAS) : 0,
    isHibernated: spec.hibernate,
    rollsPods: spec.updateStrategy.type !== 'Paused',
    pods: podTimes(spec),
    requiresHealth: spec.updateStrategy.requireHealthy,
    scaleUpMax: spec.scaleUp.maxConcurrent,
    stallTimeoutMs: 1000 * spec.scaleDown.stallTimeoutSeconds,
    deletesClaimsWith: {
      cluster: retention.whenDeleted === 'Delete',
      ordinal: retention.whenScaled === 'Delete',
    },
  }
}

/** Whether the operator runs an etcd for the cluster alone. */
export function hasManagedEtcd({ mode, etcd }: StoreClusterSpec): boolean {
  return mode !== 'SingleNode' && etcd?.mode !== 'External'
}

/** The default of the kind's `spec.etcd.replicas`, for a spec without `etcd`. */
const ETCD_REPLICAS = 3

function podTimes({ nodes, updateStrategy: update }: StoreClusterSpec): Wanted['pods'] {
  return {
    unavailableMax: update.maxUnavailable,
    minReadyMs: 1000 * update.minReadySeconds,
    timeoutMs: 1000 * update.podTimeoutSeconds,
    graceMs: 1000 * nodes.terminationGracePeriodSeconds,
  }
}
