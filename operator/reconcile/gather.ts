// All that one pass reads: objects from the caches, Secrets and classes by name, the store and etcd by asking them.

import type { Clock } from '../../lib/clock.ts'
import { CHILD_KINDS } from '../children/child-kinds.ts'
import { childrenOf } from '../children/children.ts'
import type { Wishes } from '../children/children.ts'
import { liveChildren } from '../children/live-children.ts'
import type { EtcdAdmin } from '../etcd/etcd-admin.ts'
import type { StoreCluster } from '../kinds/cluster/store-cluster.ts'
import type { ClusterView } from '../machines/observed/cluster-view.ts'
import type { PoolView } from '../machines/observed/kubernetes-view.ts'
import type { Observed } from '../machines/observed/observed.ts'
import type { StoreView } from '../machines/observed/store-view.ts'
import { hasManagedEtcd } from '../machines/pass/wanted.ts'
import { storageClassOf } from '../observe/claim-view.ts'
import { clusterViewOf } from '../observe/cluster-view.ts'
import { podsWithInference, withInference } from '../observe/inference-state.ts'
import { poolViewOf } from '../observe/pool-view.ts'
import type { StorageClasses } from '../observe/storage-classes.ts'
import { withUsage } from '../observe/volume-usage.ts'
import type { ClusterInput } from '../resources/parts/cluster-input.ts'
import { ANNOTATIONS, ETCD_MEMBERS_MAX, objectNames } from '../resources/parts/names.ts'
import type { Component } from '../resources/parts/names.ts'
import type { StoredObject } from '../runtime/api/api-object.ts'
import type { KubernetesApi } from '../runtime/api/kubernetes-api.ts'
import type { Applier } from '../runtime/writes/applier.ts'
import { readSecrets } from '../secrets/read-secrets.ts'
import type { SecretsView } from '../secrets/secrets-view.ts'
import type { StoreAdmin } from '../store/store-admin.ts'
import type { KeptAdmins } from './admins.ts'
import type { ClusterCaches } from './cluster-caches.ts'
import { clusterInputOf } from './decided.ts'
import type { OperatorDefaults } from './decided.ts'
import { desiredOf } from './desired.ts'
import type { RolloutSlots } from './rollout-slots.ts'

/** Where a pass reads. */
export interface Sources {
  readonly api: KubernetesApi
  readonly caches: ClusterCaches
  readonly classes: StorageClasses
  readonly admins: KeptAdmins
  readonly applier: Applier
  readonly slots: RolloutSlots
  readonly defaults: OperatorDefaults
  readonly clock: Clock
}

/** What a pass has read, and by what it acts. */
export interface Gathered {
  readonly observed: Observed
  readonly input: ClusterInput
  readonly wishes: Wishes
  readonly secrets: SecretsView
  readonly liveSets: LiveSets
  readonly store: StoreAdmin | undefined
  readonly etcd: EtcdAdmin | undefined
}

/** The sets as the caches have them, if they are the cluster's own. */
export interface LiveSets {
  readonly nodes: StoredObject | undefined
  readonly etcd: StoredObject | undefined
}

export async function gather(
  sources: Sources,
  { key, object, cluster }: ClusterOfPass,
  signal: AbortSignal,
): Promise<Gathered> {
  const { api, clock, caches, defaults, slots, applier } = sources
  const view = clusterViewOf(object, cluster)
  const hasEtcd = hasManagedEtcd(view.spec)
  const [nodes, etcdPool] = await poolsOf(sources, view, signal)
  const secrets = await readSecrets(api, view, clock.nowMs(), signal)
  const beside = {
    nodeSet: nodes.view.set,
    etcdSet: etcdPool.view.set,
    keptEtcdImage: etcdPool.live?.metadata.annotations?.[ANNOTATIONS.defaultImage],
    secrets,
    hasPodMonitors: caches.cache('PodMonitor').isReady(),
  }
  // By whom etcd is reached does not depend on what it answers.
  const unasked = clusterInputOf(view, { ...beside, etcd: 'unreachable' }, defaults)
  const { store, etcd } = adminsOf(sources, unasked, { nodes: nodes.view, secrets })
  const asksEtcd = etcdPool.view.pods.length > 0
  const [storeView, etcdView, inference] = await Promise.all([
    lookAt(store, view),
    asksEtcd ? (etcd?.look(signal) ?? UNREACHABLE) : UNREACHABLE,
    sources.admins.inference(unasked, podsWithInference(nodes.view)),
  ])
  const input = clusterInputOf(view, { ...beside, etcd: etcdView }, defaults)
  const cached = [...CHILD_KINDS, 'StatefulSet'].flatMap((kind) => caches.of(kind, view))
  const live = await liveChildren(api, { input, cached }, signal)
  const { wishes, ...children } = childrenOf({ input, live, secrets, applier })
  const observed: Observed = {
    nowMs: clock.nowMs(),
    cacheAgeMs: caches.ageMs(),
    cluster: view,
    desired: desiredOf(view, input),
    children,
    specProblems: [],
    secretProblems: secrets.problems,
    nodes: withInference(withUsage(nodes.view, storeView, view.name), inference),
    etcdPool: hasEtcd ? etcdPool.view : undefined,
    store: storeView,
    etcd: etcdView,
    hasPodMonitors: beside.hasPodMonitors,
    mayRoll: slots.mayRoll(key),
  }
  const liveSets = { nodes: nodes.live, etcd: etcdPool.live }
  return { observed, input, wishes, secrets, liveSets, store, etcd }
}

const UNREACHABLE = Promise.resolve('unreachable' as const)

async function lookAt(
  store: StoreAdmin | undefined,
  cluster: ClusterView,
): Promise<StoreView | 'unreachable'> {
  return store === undefined ? 'unreachable' : namedIn(cluster, await store.look())
}

/** A single node runs without a name: it is the only node of its store. */
function namedIn(
  { name: cluster, spec }: ClusterView,
  store: StoreView | 'unreachable',
): StoreView | 'unreachable' {
  if (store === 'unreachable' || spec.mode !== 'SingleNode') return store
  const name = `${objectNames(cluster).nodeSet}-0`
  return { ...store, nodes: store.nodes.map((node) => ({ name, ...node })) }
}

/** The cluster that a pass is about. */
export interface ClusterOfPass {
  readonly key: string
  readonly object: StoredObject
  readonly cluster: StoreCluster
}

interface Pool {
  readonly view: PoolView
  /** The set as it is live; `undefined` if there is none, or one of another owner. */
  readonly live: StoredObject | undefined
}

async function poolsOf(
  { caches, classes }: Sources,
  cluster: ClusterView,
  signal: AbortSignal,
): Promise<readonly [nodes: Pool, etcd: Pool]> {
  const claims = caches.of('PersistentVolumeClaim', cluster)
  await classes.refresh(claims.map(storageClassOf), signal)
  const sets = caches.of('StatefulSet', cluster)
  const pods = caches.of('Pod', cluster)
  const names = objectNames(cluster.name)
  const poolOf = (component: Component, name: string): Pool => {
    const set = sets.find(({ metadata }) => metadata.name === name)
    const of = {
      cluster,
      component,
      isExpandable: (className: string | undefined) => classes.isExpandable(className),
    }
    const view = poolViewOf({ set, pods, claims }, of)
    return { view, live: view.set === undefined ? undefined : set }
  }
  return [poolOf('node', names.nodeSet), poolOf('etcd', names.etcdSet)]
}

function adminsOf(
  { admins }: Sources,
  input: ClusterInput,
  { nodes, secrets }: { readonly nodes: PoolView; readonly secrets: SecretsView },
): { readonly store: StoreAdmin | undefined; readonly etcd: EtcdAdmin | undefined } {
  // Those that are ready are asked first: one without power answers nobody, and takes half of the time for a look.
  const pods = nodes.pods
    .toSorted((one, other) => Number(other.isReady) - Number(one.isReady))
    .map(({ name }) => name)
  return {
    store: admins.store(input, pods),
    etcd: admins.etcd(input, { members: ETCD_MEMBERS_MAX, tls: secrets.etcdTls }),
  }
}
