// The objects of one cluster, and the controllers of Kubernetes that move them: StatefulSets with Parallel start and a
// partition, claims that are kept while a pod uses them, pods that need a while to start and to stop.

import type { Pool } from '../../../operator/machines/pass/decision.ts'
import type {
  ClaimView,
  DrainedMark,
  PodView,
  PoolView,
  SetView,
  TemplateFacts,
} from '../../../operator/machines/observed/kubernetes-view.ts'

export interface ModelledSet {
  readonly uid: string
  version: number
  generation: number
  observedGeneration: number
  replicas: number
  partition: number
  template: TemplateFacts
  currentRevision: string
  claimBytes: number
  isDeleting: boolean
  keepsPods: boolean
}

export interface ModelledPod {
  readonly pool: Pool
  readonly ordinal: number
  readonly uid: string
  readonly revision: string
  readonly createdAtMs: number
  readonly claimUID: string
  isReady: boolean
  changedAtMs: number
  isDeleting: boolean
  /** It crashes, or its Kubernetes node is lost, until then. */
  downUntilMs: number
  isLooping: boolean
}

export interface ModelledClaim {
  readonly pool: Pool
  readonly ordinal: number
  readonly uid: string
  version: number
  clusterUID: string
  drained?: DrainedMark
  bytes: number
  capacity: number
  usedBytes: number
  /** Its capacity stays as it is. */
  isSlow: boolean
  isDeleting: boolean
}

export const START_MS = 10_000

export class ModelledKubernetes {
  nowMs = Date.parse('2026-01-01T00:00:00Z')
  readonly sets: { nodes?: ModelledSet; etcd?: ModelledSet } = {}
  pods: ModelledPod[] = []
  claims: ModelledClaim[] = []
  #uids = 0

  uid(prefix: string): string {
    this.#uids += 1
    return `${prefix}-${this.#uids}`
  }

  podAt(pool: Pool, ordinal: number): ModelledPod | undefined {
    return this.pods.find((pod) => pod.pool === pool && pod.ordinal === ordinal)
  }

  claimAt(pool: Pool, ordinal: number): ModelledClaim | undefined {
    return this.claims.find((claim) => claim.pool === pool && claim.ordinal === ordinal)
  }

  /** One look of each controller. `mayStart` says whether a pod becomes ready over its volume. */
  tick(clusterUID: string, mayStart: (pod: ModelledPod) => boolean): void {
    for (const pool of ['etcd', 'nodes'] as const) this.#moveSet(pool, clusterUID)
    for (const pod of this.pods) this.#movePod(pod, mayStart)
    this.pods = this.pods.filter((pod) => !pod.isDeleting || pod.changedAtMs >= this.nowMs)
    for (const claim of this.claims) {
      if (!claim.isSlow) claim.capacity = Math.max(claim.capacity, claim.bytes)
    }
    const used = new Set(this.pods.map(({ claimUID }) => claimUID))
    this.claims = this.claims.filter(({ isDeleting, uid }) => !isDeleting || used.has(uid))
  }

  #moveSet(pool: Pool, clusterUID: string): void {
    const set = this.sets[pool]
    if (set === undefined) return
    const own = this.pods.filter((pod) => pod.pool === pool)
    if (set.isDeleting) {
      if (!set.keepsPods) for (const pod of own) this.stop(pod)
      if (set.keepsPods || own.length === 0) delete this.sets[pool]
      return
    }
    set.observedGeneration = set.generation
    for (const pod of own) if (pod.ordinal >= set.replicas) this.stop(pod)
    for (let ordinal = 0; ordinal < set.replicas; ordinal++) {
      if (this.podAt(pool, ordinal) === undefined) this.#start({ pool, ordinal, set, clusterUID })
    }
    this.#roll(pool, set)
  }

  #start(at: { pool: Pool; ordinal: number; set: ModelledSet; clusterUID: string }): void {
    const { pool, ordinal, set, clusterUID } = at
    const claim = this.claimAt(pool, ordinal) ?? this.#makeClaim(at)
    if (claim.isDeleting) return
    const isNew = ordinal >= set.partition
    this.pods.push({
      pool,
      ordinal,
      uid: this.uid('pod'),
      revision: isNew ? revisionOf(set) : set.currentRevision,
      createdAtMs: this.nowMs,
      claimUID: claim.uid,
      isReady: false,
      changedAtMs: this.nowMs,
      isDeleting: false,
      downUntilMs: this.nowMs + START_MS,
      isLooping: false,
    })
    void clusterUID
  }

  #makeClaim(at: {
    pool: Pool
    ordinal: number
    set: ModelledSet
    clusterUID: string
  }): ModelledClaim {
    const { pool, ordinal, set, clusterUID } = at
    const bytes = set.claimBytes
    const uid = this.uid('claim')
    const made: ModelledClaim = {
      pool,
      ordinal,
      uid,
      version: 1,
      clusterUID,
      bytes,
      capacity: 0,
      usedBytes: 0,
      isSlow: false,
      isDeleting: false,
    }
    this.claims.push(made)
    return made
  }

  /** From the highest ordinal down to the partition, one at a time, and not past one that is not ready. */
  #roll(pool: Pool, set: ModelledSet): void {
    for (let ordinal = set.replicas - 1; ordinal >= set.partition; ordinal--) {
      const pod = this.podAt(pool, ordinal)
      if (pod === undefined || pod.isDeleting) return
      if (pod.revision !== revisionOf(set)) {
        this.stop(pod)
        return
      }
      if (!pod.isReady) return
    }
    if (set.partition === 0) set.currentRevision = revisionOf(set)
  }

  stop(pod: ModelledPod): void {
    if (pod.isDeleting) return
    pod.isDeleting = true
    pod.isReady = false
    pod.changedAtMs = this.nowMs
  }

  #movePod(pod: ModelledPod, mayStart: (pod: ModelledPod) => boolean): void {
    if (pod.isDeleting) return
    const canRun = this.nowMs >= pod.downUntilMs
    const isFit = canRun && !pod.revision.includes('bad') && mayStart(pod)
    pod.isLooping = canRun && !isFit
    if (pod.isReady === isFit) return
    pod.isReady = isFit
    pod.changedAtMs = this.nowMs
  }

  poolView(pool: Pool): PoolView {
    const set = this.sets[pool]
    return {
      set: set === undefined ? undefined : setView(set),
      pods: this.pods.filter((pod) => pod.pool === pool).map(podView),
      claims: this.claims.filter((claim) => claim.pool === pool).map(claimView),
    }
  }
}

export function revisionOf({ template }: ModelledSet): string {
  return `rev-${template.digest}`
}

function setView(set: ModelledSet): SetView {
  const { uid, generation, observedGeneration, replicas, partition, template, claimBytes } = set
  return {
    uid,
    resourceVersion: `${set.version}`,
    generation,
    observedGeneration,
    replicas,
    partition,
    updateRevision: revisionOf(set),
    isDeleting: set.isDeleting,
    template,
    claimBytes,
  }
}

/** In the digest of a template: its inference servers run, and cannot load what it names. */
export const NO_MODELS = 'dumb'

export function hasNoModels({ revision }: Pick<ModelledPod, 'revision'>): boolean {
  return revision.includes(NO_MODELS)
}

/** What the inference server beside a node says. */
function inferenceOf({ pool, isReady, revision }: ModelledPod): Pick<PodView, 'inference'> {
  if (pool !== 'nodes') return {}
  if (!isReady) return { inference: { state: 'Silent' } }
  if (!hasNoModels({ revision })) return { inference: { state: 'Ready' } }
  return { inference: { state: 'Loading', message: 'there is no such model' } }
}

function podView(pod: ModelledPod): PodView {
  const { ordinal, uid, revision, isReady, changedAtMs, createdAtMs, isDeleting } = pod
  const problem = { reason: 'CrashLooping', message: 'back-off' } as const
  return {
    name: nameOf(pod.pool, ordinal),
    ordinal,
    uid,
    revision,
    isReady,
    readyChangedAtMs: changedAtMs,
    createdAtMs,
    isDeleting,
    ...(pod.isLooping ? { problem } : {}),
    ...inferenceOf(pod),
  }
}

export function nameOf(pool: Pool, ordinal: number): string {
  return `c-${pool === 'nodes' ? 'node' : 'etcd'}-${ordinal}`
}

function claimView(claim: ModelledClaim): ClaimView {
  const { pool, ordinal, uid, version, clusterUID, drained, bytes, capacity, isDeleting } = claim
  const usedPercent = Math.floor((100 * claim.usedBytes) / Math.max(1, capacity))
  return {
    name: `data-${nameOf(pool, ordinal)}`,
    ordinal,
    uid,
    resourceVersion: `${version}`,
    isDeleting,
    clusterUID,
    ...(drained === undefined ? {} : { drained }),
    requestedBytes: bytes,
    capacityBytes: capacity,
    isExpandable: true,
    ...(pool === 'nodes' && claim.usedBytes > 0 ? { usedPercent } : {}),
  }
}
