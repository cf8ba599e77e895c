// Facts of the Kubernetes objects of one cluster, as the caches of the operator show them.

/** A StatefulSet of ours. */
export interface SetView {
  readonly uid: string
  readonly resourceVersion: string
  readonly generation: number
  readonly observedGeneration: number
  readonly replicas: number
  /** Pods with an ordinal below this one keep their revision. */
  readonly partition: number
  readonly updateRevision: string
  readonly isDeleting: boolean
  /** What was written into its pod template last, by the operator's own annotations. */
  readonly template: TemplateFacts
  /** The size in its claim template. */
  readonly claimBytes: number
}

/**
 * What tells one pod template from another. `digest` covers only what follows from the spec and from what it refers to,
 * so that a new version of the operator restarts no pod.
 */
export interface TemplateFacts {
  readonly digest: string
  readonly version: string
  readonly image: string
  /** ISO 8601; absent without a restart that was asked for. */
  readonly restartedAt?: string
}

/** A pod of a set, by the ordinal in its name. */
export interface PodView {
  readonly name: string
  readonly ordinal: number
  readonly uid: string
  /** The revision of the set that it was made from. */
  readonly revision: string
  readonly isReady: boolean
  /** Since when it is ready, or since when it is not. */
  readonly readyChangedAtMs: number
  readonly createdAtMs: number
  readonly isDeleting: boolean
  /** The container of its server is ready, although the pod is not: what is ill is a sidecar. Absent of any other pod. */
  readonly isServing?: true
  /** Why it is not ready, where Kubernetes says so. */
  readonly problem?: PodProblem
  /** Absent without a sidecar. */
  readonly inference?: InferenceAnswer & {
    /** Why its container does not run, where Kubernetes says so. */
    readonly problem?: PodProblem
  }
}

/** What an inference server says of itself. */
export interface InferenceAnswer {
  readonly state: 'Ready' | 'Loading' | 'Silent'
  /** Why it will not be ready by itself. */
  readonly message?: string
}

/** Why a container or a pod does not become ready by itself. */
export interface PodProblem {
  readonly reason: 'CrashLooping' | 'ImagePullFailed' | 'Unschedulable' | 'VolumeTopologyConflict'
  /** Kubernetes' own words. */
  readonly message: string
}

/** A claim of a set, by the ordinal in its name. It may be older than the cluster. */
export interface ClaimView {
  readonly name: string
  readonly ordinal: number
  readonly uid: string
  readonly resourceVersion: string
  readonly isDeleting: boolean
  /** `quarry.dev/cluster-uid`: the cluster that has used it last. */
  readonly clusterUID?: string
  /** `quarry.dev/drained`. What cannot be read there counts as no mark: the claim is kept. */
  readonly drained?: DrainedMark
  readonly requestedBytes: number
  /** Zero until it is bound. */
  readonly capacityBytes: number
  /** Whether it may be given a larger size now: it is bound, and its storage class can expand volumes. */
  readonly isExpandable: boolean
  /** What Kubernetes does with its size now. */
  readonly resize?: 'Resizing' | 'FileSystemResizePending' | 'Failed'
  readonly resizeMessage?: string
  /** How much of the volume is used, where it is known. */
  readonly usedPercent?: number
}

/** Written on the claim of a node that was emptied and decommissioned: what is on it must never join again. */
export interface DrainedMark {
  /** ISO 8601. */
  readonly at: string
  /** The cluster's UID. */
  readonly cluster: string
  readonly nodeID: string
  readonly operation: string
}

/** A StatefulSet with its pods and claims. */
export interface PoolView {
  /** `undefined` while it does not exist. */
  readonly set: SetView | undefined
  readonly pods: readonly PodView[]
  /** All claims by the template's name and the set's labels, of any cluster that had this name. */
  readonly claims: readonly ClaimView[]
}

/** Services, Secrets, the ConfigMap, the PodDisruptionBudget and all else that may be applied at any time. */
export interface ChildrenView {
  /** Objects that are absent or not as they are to be, each as `Kind/name`. */
  readonly outdated: readonly string[]
  /** Objects of ours that the spec does not ask for any more. */
  readonly surplus: readonly string[]
  /** Objects with a name that is needed and without our owner UID. */
  readonly foreign: readonly string[]
}

/** What is wrong with the spec or with what it refers to. Never a value: it may be a secret. */
export interface SpecProblem {
  readonly reason: 'InvalidSpec' | 'ReferenceNotFound' | 'MalformedObject'
  readonly field: string
  readonly message: string
}

/** A Secret, or a key of it, that the spec names and that is not there. */
export interface SecretProblem {
  readonly reason: 'SecretNotFound' | 'KeyMissing'
  readonly field: string
  readonly message: string
}
