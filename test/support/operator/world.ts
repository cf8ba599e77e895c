// A cluster, its Kubernetes, its store and its etcd: what the operator reads, and what its steps do. Each step is judged
// as it happens, so that a broken promise is told where it is broken.

import type { StoreClusterStatus } from '../../../operator/kinds/cluster/status.ts'
import type { Step } from '../../../operator/machines/pass/decision.ts'
import type { Overrides } from '../../../operator/machines/observed/cluster-view.ts'
import type { TemplateFacts } from '../../../operator/machines/observed/kubernetes-view.ts'
import type { Observed } from '../../../operator/machines/observed/observed.ts'
import { claimBytesOf } from './claim-bytes.ts'
import { checkGrowth } from './checked-growth.ts'
import { FIRST_WISH, specOf } from './cluster-spec.ts'
import type { Wish } from './cluster-spec.ts'
import { ModelledEtcd } from './modelled-etcd.ts'
import { ModelledKubernetes, nameOf } from './modelled-kubernetes.ts'
import type { ModelledPod } from './modelled-kubernetes.ts'
import { ModelledStore } from './modelled-store.ts'
import { applyStep } from './world-steps.ts'

export const TICK_MS = 5_000
/** How many ticks a cache may be behind. */
export const STALE_TICKS_MAX = 4

interface ModelledCluster {
  uid: string
  version: number
  generation: number
  hasFinalizer: boolean
  deletedAtMs?: number
  wish: Wish
  status: StoreClusterStatus | undefined
}

/** What caches show: the objects as they were at one tick. */
export type Cached = Pick<Observed, 'nodes' | 'etcdPool' | 'cluster'> & { readonly wish: Wish }

export class World {
  readonly kubernetes = new ModelledKubernetes()
  readonly store: ModelledStore
  readonly etcd = new ModelledEtcd()
  cluster: ModelledCluster
  overrides: Overrides = { isPaused: false, allowsDowngrade: false, skipsHealthGate: false }
  readonly #history: Cached[] = []
  /** Operations that are over: none of them comes back. */
  readonly ended = new Set<string>()
  /** Whether children are as they are to be. */
  hasChildren = false

  /** Without a history caches are never behind, and a tick costs less. */
  readonly #keepsHistory: boolean

  constructor(options: { readonly replicationFactor: number; readonly keepsHistory?: boolean }) {
    const { replicationFactor, keepsHistory = false } = options
    this.#keepsHistory = keepsHistory
    this.store = new ModelledStore(replicationFactor)
    this.cluster = this.#newCluster(FIRST_WISH)
    this.tick()
  }

  #newCluster(wish: Wish): ModelledCluster {
    const uid = this.kubernetes.uid('cluster')
    return { uid, version: 1, generation: 1, hasFinalizer: false, wish, status: undefined }
  }

  get nowMs(): number {
    return this.kubernetes.nowMs
  }

  edit(change: Partial<Wish>): void {
    if (this.cluster.deletedAtMs !== undefined) return
    this.cluster.wish = { ...this.cluster.wish, ...change }
    this.cluster.version += 1
    this.cluster.generation += 1
  }

  delete(): void {
    this.cluster.deletedAtMs ??= this.nowMs
    this.cluster.version += 1
    if (!this.cluster.hasFinalizer) this.#vanish()
  }

  /** The object is gone: what it owns is collected, and somebody makes one of the same name. */
  #vanish(): void {
    for (const set of [this.kubernetes.sets.nodes, this.kubernetes.sets.etcd]) {
      if (set !== undefined) set.isDeleting = true
    }
    this.cluster = this.#newCluster(this.cluster.wish)
    this.hasChildren = false
  }

  /** When the controllers last had a look. */
  tickedAtMs = 0

  tick(): void {
    const { kubernetes, store, etcd } = this
    kubernetes.nowMs += TICK_MS
    this.tickedAtMs = kubernetes.nowMs
    kubernetes.tick(this.cluster.uid, (pod) => this.#mayStart(pod))
    const ready = kubernetes.pods.filter(({ isReady }) => isReady)
    etcd.tick(new Set(ready.filter(({ pool }) => pool === 'etcd').map((pod) => pod.claimUID)))
    for (const pod of ready) if (pod.pool === 'nodes') this.#register(pod)
    const running = ready.flatMap(({ claimUID }) => store.nodeOf(claimUID)?.id ?? [])
    const volumes = new Set(kubernetes.claims.map(({ uid }) => uid))
    store.tick({ present: new Set(running), volumes })
    if (!this.#keepsHistory) return
    this.#history.push(this.#snapshot())
    if (this.#history.length > STALE_TICKS_MAX) this.#history.shift()
  }

  #mayStart({ pool, ordinal, claimUID, isReady }: ModelledPod): boolean {
    if (pool === 'etcd') {
      return this.etcd.mayStart(nameOf(pool, ordinal), claimUID, this.#founders())
    }
    if (!this.etcd.hasQuorum && !isReady) return false
    // The node refuses to start over a volume that was decommissioned; one that runs is only told so.
    const node = this.store.nodeOf(claimUID)
    const forgotten = this.#forgotten.has(claimUID)
    return isReady || (node?.state !== 'decommissioned' && !forgotten)
  }

  #founders(): readonly string[] {
    const isCreating = this.cluster.status?.operation?.type === 'Create'
    const members = isCreating ? (this.kubernetes.sets.etcd?.replicas ?? 0) : 0
    return Array.from({ length: members }, (_, ordinal) => nameOf('etcd', ordinal))
  }

  readonly #forgotten = new Set<string>()
  rememberForgotten(claimUID: string): void {
    this.#forgotten.add(claimUID)
  }

  #register({ pool, ordinal, claimUID }: ModelledPod): void {
    if (this.store.nodeOf(claimUID) !== undefined || this.#forgotten.has(claimUID)) return
    const id = this.kubernetes.uid('node')
    const at = { registeredAt: this.nowMs, incarnation: 1 }
    this.store.nodes.set(id, {
      id,
      name: nameOf(pool, ordinal),
      claimUID,
      state: 'serving',
      ...at,
    })
  }

  #snapshot(): Cached {
    const { kubernetes, cluster, overrides } = this
    const { uid, version, generation, hasFinalizer, deletedAtMs, wish, status } = cluster
    return structuredClone({
      nodes: kubernetes.poolView('nodes'),
      etcdPool: kubernetes.poolView('etcd'),
      wish,
      cluster: {
        name: 'c',
        namespace: 'n',
        uid,
        resourceVersion: `${version}`,
        generation,
        hasFinalizer,
        ...(deletedAtMs === undefined ? {} : { deletedAtMs }),
        overrides,
        spec: specOf(wish),
        status,
      },
    })
  }

  /** Each cache may be behind by another number of ticks; the store and etcd are asked now. */
  observe(behind: {
    readonly cluster: number
    readonly nodes: number
    readonly etcd: number
  }): Observed {
    const now = this.#snapshot()
    const at = (ticks: number) => (ticks === 0 ? now : (this.#history.at(-ticks) ?? now))
    const { cluster, wish } = at(behind.cluster)
    return {
      nowMs: this.nowMs,
      cacheAgeMs: 0,
      cluster,
      desired: {
        template: templateOf(wish.digest),
        etcdTemplate: templateOf('etcd'),
        claimBytes: claimBytesOf(wish, cluster.status),
        specClaimBytes: wish.bytes,
        ...(wish.autoGrow === undefined ? {} : { autoGrow: wish.autoGrow }),
        etcdClaimBytes: 10,
      },
      children: { outdated: this.hasChildren ? [] : ['Service/c'], surplus: [], foreign: [] },
      specProblems: [],
      secretProblems: [],
      nodes: at(behind.nodes).nodes,
      etcdPool: at(behind.etcd).etcdPool,
      store: this.store.view(this.nowMs),
      etcd: this.etcd.view(this.nowMs),
      hasPodMonitors: false,
      mayRoll: true,
    }
  }

  /** Whether the step has happened: not if an object is another one than it was decided for. */
  apply(observed: Observed, step: Step): boolean {
    if (observed.cluster.resourceVersion !== `${this.cluster.version}`) return false
    if (observed.cluster.uid !== this.cluster.uid) return false
    if (step.kind === 'remove_finalizer') {
      this.cluster.hasFinalizer = false
      this.#vanish()
      return true
    }
    return applyStep(this, observed, step)
  }

  /** A write over an older object is refused. */
  writeStatus(observed: Observed, status: StoreClusterStatus): boolean {
    const { cluster } = this
    if (observed.cluster.uid !== cluster.uid) return false
    if (JSON.stringify(status) === JSON.stringify(cluster.status)) return true
    // A step that has changed the object itself, such as its finalizer, has made it newer.
    if (Number(observed.cluster.resourceVersion) !== cluster.version) return false
    checkGrowth(observed, status)
    cluster.status = structuredClone(status)
    cluster.version += 1
    return true
  }
}

export function templateOf(digest: string): TemplateFacts {
  return { digest, version: '1.0.0', image: 'quarry:1.0.0' }
}
