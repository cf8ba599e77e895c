// What tier api lacks: pods that run, volumes, and the stores and etcds in those pods.
//
//   claim ─► a volume that is made for it; Kubernetes' own controller binds both
//   pod ─► ready, as soon as what it is to run may start over its volume
//   ready pods ─► one look of each stub store and etcd
//
// Pods have no node, so that the API server deletes them at once.

import { must } from '../../../../lib/assert.ts'
import { systemClock } from '../../../../lib/clock.ts'
import { silentLog } from '../../../../lib/log.ts'
import { kindNamed } from '../../../../operator/children/child-kinds.ts'
import { isBoundTo, recordOf, textsOf } from './stored-fields.ts'
import { crashingStatus, imagesOf, isReady, isRunning, readyStatus } from './stub-pod.ts'
import type { StoredObject } from '../../../../operator/runtime/api/api-object.ts'
import type { KubernetesApi } from '../../../../operator/runtime/api/kubernetes-api.ts'
import { KindCache } from '../../../../operator/runtime/cache/kind-cache.ts'
import type { AdminSource } from '../../../../operator/reconcile/admins.ts'
import { StubEtcd, StubStore } from './stub-store.ts'
import type { ReadyPod, Surroundings } from './stub-store.ts'
import { volumeFor, VOLUMES } from './stub-volume.ts'

const BEAT_MS = 50
const REPLICATION_FACTOR = 2
const INSTANCE = 'app.kubernetes.io/instance'
const COMPONENT = 'app.kubernetes.io/component'
interface StubCluster {
  readonly store: StubStore
  readonly etcd: StubEtcd
}

const { signal } = new AbortController()

/**
 * Contract:
 * - A pod of `held` does not become ready, and one that is ready stays so.
 * - A container with an image of `badImages` ends whenever it is started, so that its pod does not become ready.
 * - `broken` has every promise about data that was broken.
 * - `hurries` gives each cluster a pass every few beats, as a change of one of its objects does, so that no test waits for the
 *   seconds of the operator's own looks.
 */
export class StubKubelet implements AsyncDisposable {
  readonly held = new Set<string>()
  readonly badImages = new Set<string>()
  readonly broken: string[] = []
  hurries = false
  readonly #api: KubernetesApi
  readonly #namespace: string
  readonly #clusters = new Map<string, StubCluster>()
  readonly #caches: Readonly<Record<'pods' | 'claims' | 'clusters', KindCache>>
  readonly #stop: () => Promise<void>
  #beats = 0
  #nudges = 0

  constructor(api: KubernetesApi, namespace: string) {
    this.#api = api
    this.#namespace = namespace
    const cache = (kind: string): KindCache =>
      new KindCache({
        api,
        clock: systemClock,
        random: Math.random,
        log: silentLog,
        absentRecheckMs: 1000,
        kind: kindNamed(kind),
        namespaces: [namespace],
        labelSelector: '',
        groupOf: () => undefined,
        onChange: () => undefined,
      })
    this.#caches = {
      pods: cache('Pod'),
      claims: cache('PersistentVolumeClaim'),
      clusters: cache('StoreCluster'),
    }
    for (const one of Object.values(this.#caches)) one.start()
    this.#stop = systemClock.every(BEAT_MS, () => this.#beat())
  }

  /** The store and etcd of a cluster, also before it has pods. */
  cluster(name: string): StubCluster {
    const known = this.#clusters.get(name)
    if (known !== undefined) return known
    const made = { store: new StubStore(`${name}-`, REPLICATION_FACTOR), etcd: new StubEtcd() }
    this.#clusters.set(name, made)
    return made
  }

  admins(): AdminSource {
    return {
      store: ({ cluster }) => this.cluster(cluster.name).store,
      etcd: ({ cluster }) => this.cluster(cluster.name).etcd,
      inference: async (_, pods) => new Map(pods.map((pod) => [pod, { state: 'Ready' }])),
    }
  }

  /** Changes an object that has the labels of a cluster and is not one of its own. */
  async nudge(cluster: string): Promise<void> {
    const metadata = {
      name: `nudge-${cluster}`,
      labels: { 'app.kubernetes.io/name': 'quarry', [INSTANCE]: cluster },
      annotations: { beat: `${(this.#nudges += 1)}` },
    }
    const object = { apiVersion: 'v1', kind: 'ConfigMap', metadata }
    const ref = { kind: kindNamed('ConfigMap'), namespace: this.#namespace, name: metadata.name }
    const patch = { type: 'merge', value: { metadata } } as const
    try {
      await this.#api.patch({ ref, patch, part: 'object' }, signal)
    } catch {
      const wished = { ...object, metadata: { ...metadata, namespace: this.#namespace } }
      await this.#api.create(ref.kind, wished, signal).catch(() => undefined)
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#stop()
    await Promise.all(Object.values(this.#caches).map((cache) => cache.stop()))
  }

  async #beat(): Promise<void> {
    if (Object.values(this.#caches).some((cache) => !cache.isReady())) return
    try {
      await this.#beatOnce()
    } catch {
      // Objects change under its hands; the next beat sees them as they are then.
    }
  }

  async #beatOnce(): Promise<void> {
    const claims = this.#caches.claims.list()
    await Promise.all(claims.map((claim) => this.#provide(claim)))
    const pods = this.#caches.pods.list()
    await Promise.all(pods.map((pod) => this.#start(pod)))
    for (const name of this.#names()) this.#settle(name)
    this.#forgetEmptied()
    this.#beats += 1
    if (this.hurries && this.#beats % 5 === 0) {
      await Promise.all(this.#names().map((name) => this.nudge(name)))
    }
  }

  #names(): readonly string[] {
    return this.#caches.clusters.list().map(({ metadata }) => metadata.name)
  }

  async #provide(claim: StoredObject): Promise<void> {
    const { name } = claim.metadata
    const { phase, capacity } = recordOf(claim['status'])
    const { resources } = recordOf(claim['spec'])
    const { storage } = recordOf(recordOf(resources)['requests'])
    if (phase === 'Bound') {
      if (recordOf(capacity)['storage'] === storage) return
      const ref = { kind: kindNamed('PersistentVolumeClaim'), namespace: this.#namespace, name }
      const patch = { type: 'merge', value: { status: { capacity: { storage } } } } as const
      await this.#api.patch({ ref, patch, part: 'status' }, signal)
      return
    }
    if (claim.metadata.deletionTimestamp !== undefined) return
    const volume = volumeFor(claim, this.#namespace)
    await this.#api.create(VOLUMES, volume, signal).catch(() => undefined)
  }

  async #start(pod: StoredObject): Promise<void> {
    const { name, labels = {}, deletionTimestamp } = pod.metadata
    const cluster = labels[INSTANCE]
    if (isReady(pod) || deletionTimestamp !== undefined || this.held.has(name)) return
    const claim = this.#claimOf(pod)
    if (cluster === undefined || claim === undefined || !isBoundTo(claim)) return
    if (imagesOf(pod).some((image) => this.badImages.has(image))) {
      if (!isRunning(pod)) await this.#writeStatus(pod, crashingStatus(pod))
      return
    }
    const isEtcd = labels[COMPONENT] === 'etcd'
    const mayStart = isEtcd
      ? await this.#mayStartEtcd(cluster, name, claim.metadata.uid)
      : this.#mayStartNode(cluster, claim.metadata.uid)
    if (mayStart) await this.#writeStatus(pod, readyStatus(pod))
  }

  async #mayStartEtcd(cluster: string, pod: string, claimUID: string): Promise<boolean> {
    const ref = {
      kind: kindNamed('ConfigMap'),
      namespace: this.#namespace,
      name: `${cluster}-etcd`,
    }
    const found = await this.#api.get(ref, signal)
    const { 'initial-cluster-state': state, 'initial-cluster': members } = textsOf(found?.['data'])
    const names = (members ?? '').split(',').map((member) => member.split('=')[0] ?? '')
    const founders = state === 'new' ? names : []
    return this.cluster(cluster).etcd.model.mayStart(pod, claimUID, founders)
  }

  #mayStartNode(name: string, claimUID: string): boolean {
    const cluster = this.#caches.clusters.list().find(({ metadata }) => metadata.name === name)
    const { mode } = recordOf(cluster?.['spec'])
    const { store, etcd } = this.cluster(name)
    return (mode === 'SingleNode' || etcd.model.hasQuorum) && store.mayStart(claimUID)
  }

  async #writeStatus(pod: StoredObject, status: object): Promise<void> {
    const { name, uid } = pod.metadata
    const ref = { kind: kindNamed('Pod'), namespace: this.#namespace, name }
    const patch = { type: 'merge', value: { metadata: { uid }, status } } as const
    await this.#api.patch({ ref, patch, part: 'status' }, signal).catch(() => undefined)
  }

  /** A cluster that is being deleted, and its data with it, is promised nothing. */
  #settle(name: string): void {
    const object = this.#caches.clusters.list().find(({ metadata }) => metadata.name === name)
    const around = this.#surroundings(name)
    if (object?.metadata.deletionTimestamp !== undefined) return
    const { store, etcd } = this.cluster(name)
    etcd.settle(around)
    try {
      store.settle(around)
    } catch (error) {
      this.broken.push(`${name}: ${String(error)}`)
    }
  }

  /** A store is its volumes: with the last one it is gone. */
  #forgetEmptied(): void {
    const there = new Set(this.#names())
    for (const name of this.#clusters.keys()) {
      if (!there.has(name) && this.#surroundings(name).volumes.size === 0) {
        this.#clusters.delete(name)
      }
    }
  }

  #surroundings(cluster: string): Surroundings {
    const isOf = ({ metadata }: StoredObject) => metadata.labels?.[INSTANCE] === cluster
    const pods = this.#caches.pods.list().filter((pod) => isOf(pod) && isReady(pod))
    const ready = (component: string): readonly ReadyPod[] =>
      pods
        .filter(({ metadata }) => metadata.labels?.[COMPONENT] === component)
        .flatMap((pod): ReadyPod[] => {
          const claim = this.#claimOf(pod)
          const { name, uid } = pod.metadata
          return claim === undefined ? [] : [{ name, uid, claimUID: claim.metadata.uid }]
        })
    const claims = this.#caches.claims.list().filter(isOf)
    return {
      nodes: ready('node'),
      etcd: ready('etcd'),
      volumes: new Set(claims.map(({ metadata }) => metadata.uid)),
    }
  }

  #claimOf({ metadata }: StoredObject): StoredObject | undefined {
    const name = `data-${metadata.name}`
    return this.#caches.claims.get({ namespace: must(metadata.namespace, 'a namespace'), name })
  }
}
