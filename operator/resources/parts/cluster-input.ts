// All that the objects of a cluster follow from. Equal input gives equal bytes; nothing else comes in: no time, no
// environment, and no version of the operator.

import type { StoreClusterSpec } from '../../kinds/cluster/spec.ts'
import type { ClusterIdentity } from './names.ts'

/** A cluster and what was decided for it. */
export interface ClusterInput {
  readonly cluster: ClusterIdentity & { readonly spec: StoreClusterSpec }
  readonly decided: Decided
}

/** What the state machines decided, and what was read beside the cluster. */
export interface Decided {
  /** The version of Quarry that the nodes are to have. */
  readonly version: string
  /** The images of that version, where the spec names no others. */
  readonly images: { readonly node: string; readonly inference: string; readonly etcd: string }
  readonly nodes: PoolDecision
  /** Absent unless the operator runs an etcd for the cluster. */
  readonly etcd?: EtcdDecision
  /** A Secret of an external etcd has a certificate for clients. */
  readonly hasEtcdCertificate: boolean
  /** A digest over the content of every Secret that nodes read only at their start. */
  readonly secretHash: string
  /** Where the operator's pods run. */
  readonly operatorNamespace: string
  /** The kind PodMonitor exists. */
  readonly hasPodMonitors: boolean
}

/** A StatefulSet. */
export interface PoolDecision {
  readonly replicas: number
  /** Pods below this ordinal keep the template that they have. */
  readonly partition: number
  /** The size in the template of claims: the size of the spec, once the set has been made anew for it. */
  readonly claimSize: string
}

/** An etcd of the cluster's own. */
export interface EtcdDecision extends PoolDecision {
  /** Whether its members form a cluster for the first time, or join one. */
  readonly state: 'new' | 'existing'
  /** The ordinals of all members, those that are about to join included. */
  readonly members: readonly number[]
  /** A digest of the authorities, which etcd reads only at its start. */
  readonly authorityHash: string
}
