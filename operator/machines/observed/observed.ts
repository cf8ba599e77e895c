import type { ClusterView } from './cluster-view.ts'
import type { EtcdView } from './etcd-view.ts'
import type {
  ChildrenView,
  PoolView,
  SecretProblem,
  SpecProblem,
  TemplateFacts,
} from './kubernetes-view.ts'
import type { StoreView } from './store-view.ts'

/**
 * All that one pass of the operator has read.
 *
 * Promises of the reader:
 * - Kubernetes objects come from caches, which may be behind by `cacheAgeMs` and behind each other.
 * - The store and etcd are asked in the pass itself. `unreachable` says that no member answered in time: it is neither
 *   healthy nor drained.
 * - Objects that do not belong to this cluster's UID are left out, but for claims, and named in `children.foreign`.
 */
export interface Observed {
  readonly nowMs: number
  /** Since when the oldest of the caches has heard nothing of the API server, not even a bookmark. */
  readonly cacheAgeMs: number
  readonly cluster: ClusterView
  readonly desired: Desired
  readonly children: ChildrenView
  readonly specProblems: readonly SpecProblem[]
  readonly secretProblems: readonly SecretProblem[]
  readonly nodes: PoolView
  /** `undefined` in SingleNode, and with an etcd that others run. */
  readonly etcdPool: PoolView | undefined
  readonly store: StoreView | 'unreachable'
  /** `unreachable` also where `etcdPool` is `undefined`. */
  readonly etcd: EtcdView | 'unreachable'
  /** Whether the kind PodMonitor exists in this Kubernetes. */
  readonly hasPodMonitors: boolean
  /** Whether this cluster may begin a rollout: the operator limits how many clusters roll at a time. */
  readonly mayRoll: boolean
}

/** What the spec asks for, after references and quantities were resolved. */
export interface Desired {
  /** The pod template of the nodes as the builders would write it now. */
  readonly template: TemplateFacts
  /** The pod template of etcd's members. */
  readonly etcdTemplate: TemplateFacts
  /** The size of a node's volume: that of the spec, or what volumes grew to by themselves, if that is more. */
  readonly claimBytes: number
  /** The size of a node's volume as the spec alone asks for it. */
  readonly specClaimBytes: number
  /** `undefined` if volumes do not grow by themselves. */
  readonly autoGrow?: AutoGrow
  readonly etcdClaimBytes: number
}

/** How volumes grow by themselves. */
export interface AutoGrow {
  readonly thresholdPercent: number
  readonly incrementBytes: number
  readonly maxBytes: number
}
