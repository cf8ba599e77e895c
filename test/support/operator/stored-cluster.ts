// A StoreCluster as the API server stores the smallest one that people write: every default is filled in.

import type {
  StoreCluster,
  StoreClusterMetadata,
} from '../../../operator/kinds/cluster/store-cluster.ts'
import type { StoreClusterSpec } from '../../../operator/kinds/cluster/spec.ts'
import type { StoreClusterStatus } from '../../../operator/kinds/cluster/status.ts'

/** Parts of the object that differ. */
export interface ClusterChanges {
  readonly metadata?: Partial<StoreClusterMetadata>
  readonly spec?: Partial<StoreClusterSpec>
  readonly status?: StoreClusterStatus
}

export function storedCluster({ metadata, spec, status }: ClusterChanges = {}): StoreCluster {
  return {
    apiVersion: 'quarry.dev/v1alpha1',
    kind: 'StoreCluster',
    metadata: {
      name: 'books',
      namespace: 'library',
      uid: 'b8f9c2a4-0d5e-4c7a-9f43-2a6a1f0f6e11',
      resourceVersion: '7',
      generation: 1,
      creationTimestamp: '2026-01-01T00:00:00Z',
      ...metadata,
    },
    spec: { ...SPEC, ...spec },
    ...(status === undefined ? {} : { status }),
  }
}

const SPEC: StoreClusterSpec = {
  mode: 'Distributed',
  imagePullPolicy: 'IfNotPresent',
  nodes: {
    replicas: 3,
    storage: {
      size: '10Gi',
      autoGrow: { enabled: false, thresholdPercent: 85, increment: '10Gi' },
    },
    podAntiAffinityPreset: 'Preferred',
    terminationGracePeriodSeconds: 120,
    startupTimeoutSeconds: 600,
  },
  inference: { enabled: true, preloadTimeoutSeconds: 600 },
  clientService: { type: 'ClusterIP', port: 8080 },
  networkPolicy: { enabled: true },
  podDisruptionBudget: { enabled: true, maxUnavailable: 1 },
  updateStrategy: {
    type: 'Rolling',
    maxUnavailable: 1,
    minReadySeconds: 10,
    podTimeoutSeconds: 900,
    requireHealthy: true,
  },
  scaleDown: { stallTimeoutSeconds: 1800 },
  scaleUp: { maxConcurrent: 1 },
  hibernate: false,
  persistentVolumeClaimRetentionPolicy: { whenDeleted: 'Retain', whenScaled: 'Retain' },
  deletionProtection: false,
  monitoring: { podMonitor: { enabled: false, intervalSeconds: 30 } },
  serviceAccount: {},
  logLevel: 'Info',
}
