import type { StoreClusterStatus } from '../../kinds/cluster/status.ts'
import type { DrainedMark } from '../observed/kubernetes-view.ts'

/** What the operator does in one pass, and when it looks again. */
export interface Decision {
  /** Absent if there is nothing to do now. It is carried out before the status is written. */
  readonly step?: Step
  /** The whole status. Equal to the present one if nothing has changed. */
  readonly status: StoreClusterStatus
  readonly events: readonly OperatorEvent[]
  /** When to look again, if nothing changes before. Without jitter. */
  readonly requeueMs: number
}

/** Told once, at the transition that it names. */
export interface OperatorEvent {
  readonly type: 'Normal' | 'Warning'
  readonly reason: string
  readonly message: string
}

export type Pool = 'nodes' | 'etcd'

/** The object that a step is about, as it was when the step was decided. */
export interface ObjectVersion {
  readonly uid: string
  readonly resourceVersion: string
}

/**
 * Everything that the operator can do.
 *
 * Promises of those who carry out a step:
 * - It happens only if a live read of the StoreCluster shows the resourceVersion that the pass has observed, so that
 *   neither an edit nor the status of another pass is overlooked.
 * - It happens only to an object with the UID, and where it is given the resourceVersion, that the step names.
 * - Else nothing happens, and the pass ends as after a conflict: its status is not written.
 * - A call of the store carries the operation's id. The same call twice is one.
 */
export type Step =
  | { readonly kind: 'add_finalizer' }
  | { readonly kind: 'remove_finalizer' }
  | { readonly kind: 'apply_children'; readonly names: readonly string[] }
  | { readonly kind: 'delete_children'; readonly names: readonly string[] }
  | SetStep
  | ClaimStep
  | StoreStep
  | EtcdStep

export type SetStep =
  /** Happens only while the set does not exist. Pods that match its selector are adopted. */
  | {
      readonly kind: 'create_set'
      readonly pool: Pool
      readonly replicas: number
      readonly partition: number
    }
  /** The template as it is desired now, and the partition, in one write. */
  | {
      readonly kind: 'write_template'
      readonly pool: Pool
      readonly set: ObjectVersion
      readonly partition: number
    }
  | {
      readonly kind: 'set_partition'
      readonly pool: Pool
      readonly set: ObjectVersion
      readonly partition: number
    }
  | {
      readonly kind: 'set_replicas'
      readonly pool: Pool
      readonly set: ObjectVersion
      readonly replicas: number
    }
  /** With `keepsPods` its pods stay and run without it, else they are stopped first. */
  | {
      readonly kind: 'delete_set'
      readonly pool: Pool
      readonly set: ObjectVersion
      readonly keepsPods: boolean
    }
  | { readonly kind: 'delete_pod'; readonly name: string; readonly uid: string }

export type ClaimStep =
  /** Writes `quarry.dev/cluster-uid`. */
  | {
      readonly kind: 'adopt_claim'
      readonly name: string
      readonly claim: ObjectVersion
      readonly clusterUID: string
    }
  /** Writes `quarry.dev/drained`. */
  | {
      readonly kind: 'mark_claim'
      readonly name: string
      readonly claim: ObjectVersion
      readonly mark: DrainedMark
    }
  | {
      readonly kind: 'delete_claim'
      readonly name: string
      readonly claim: ObjectVersion
    }
  | {
      readonly kind: 'grow_claim'
      readonly name: string
      readonly claim: ObjectVersion
      readonly bytes: number
    }

export type StoreStep =
  /** All leaderships leave the node, which keeps its replicas. */
  | { readonly kind: 'hand_over'; readonly nodeID: string }
  | { readonly kind: 'drain'; readonly nodeID: string; readonly operation: string }
  | { readonly kind: 'undrain'; readonly nodeID: string; readonly operation: string }
  | {
      readonly kind: 'decommission'
      readonly nodeID: string
      readonly operation: string
    }
  | { readonly kind: 'forget'; readonly nodeID: string }

export type EtcdStep =
  /** As a learner, with the peer URL of the pod of this name. */
  | { readonly kind: 'add_etcd_member'; readonly name: string }
  | { readonly kind: 'promote_etcd_member'; readonly memberID: string }
  | {
      readonly kind: 'remove_etcd_member'
      readonly memberID: string
    }
  | {
      readonly kind: 'move_etcd_leader'
      readonly fromMemberID: string
      readonly toMemberID: string
    }
  | { readonly kind: 'defragment_etcd_member'; readonly memberID: string }
  | { readonly kind: 'disarm_etcd_alarm'; readonly memberID: string }
