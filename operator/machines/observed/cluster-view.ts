import type { StoreClusterSpec } from '../../kinds/cluster/spec.ts'
import type { StoreClusterStatus } from '../../kinds/cluster/status.ts'

/** The StoreCluster itself. */
export interface ClusterView {
  readonly name: string
  readonly namespace: string
  readonly uid: string
  readonly resourceVersion: string
  readonly generation: number
  readonly hasFinalizer: boolean
  /** Absent unless it is being deleted. */
  readonly deletedAtMs?: number
  readonly overrides: Overrides
  readonly spec: StoreClusterSpec
  readonly status: StoreClusterStatus | undefined
}

/** Annotations by which people tell the operator what to do for once. */
export interface Overrides {
  /** `quarry.dev/paused` */
  readonly isPaused: boolean
  /** `quarry.dev/allow-downgrade` */
  readonly allowsDowngrade: boolean
  /** `quarry.dev/skip-health-gate` */
  readonly skipsHealthGate: boolean
  /** `quarry.dev/force-drain-ordinal` */
  readonly forceDrainOrdinal?: number
}
