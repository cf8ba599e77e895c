import type { StoreClusterSpec } from '../../../operator/kinds/cluster/spec.ts'
import type { AutoGrow } from '../../../operator/machines/observed/observed.ts'

/** What people may change in the modelled spec. */
export interface Wish {
  readonly replicas: number
  readonly etcdReplicas: number
  readonly digest: string
  readonly hibernate: boolean
  readonly bytes: number
  readonly deletesClaims: boolean
  readonly maxUnavailable: number
  readonly autoGrow: AutoGrow | undefined
}

export const FIRST_WISH: Wish = {
  replicas: 3,
  etcdReplicas: 3,
  digest: 'a',
  hibernate: false,
  bytes: 100,
  deletesClaims: false,
  maxUnavailable: 1,
  autoGrow: { thresholdPercent: 85, incrementBytes: 30, maxBytes: 400 },
}

/** A spec with the fields that the machines read; the API server fills in the others. */
export function specOf(wish: Wish): StoreClusterSpec {
  const policy = wish.deletesClaims ? 'Delete' : 'Retain'
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- only what the machines read
  return {
    mode: 'Distributed',
    nodes: { replicas: wish.replicas, terminationGracePeriodSeconds: 120 },
    etcd: { mode: 'Managed', replicas: wish.etcdReplicas },
    inference: { enabled: false },
    monitoring: { podMonitor: { enabled: false } },
    updateStrategy: {
      type: 'Rolling',
      maxUnavailable: wish.maxUnavailable,
      minReadySeconds: 10,
      podTimeoutSeconds: 900,
      requireHealthy: true,
    },
    scaleDown: { stallTimeoutSeconds: 1800 },
    scaleUp: { maxConcurrent: 1 },
    hibernate: wish.hibernate,
    persistentVolumeClaimRetentionPolicy: { whenDeleted: policy, whenScaled: policy },
  } as unknown as StoreClusterSpec
}
