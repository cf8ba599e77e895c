// One cluster with its objects at a fake API server, and doubles of its store and its etcd: what steps are carried out in.

import { ManualClock } from '../../../lib/clock.ts'
import { CLUSTER_KIND } from '../../../operator/carry-out/cluster-steps.ts'
import { StepExecutor } from '../../../operator/carry-out/step-executor.ts'
import type { StepContext } from '../../../operator/carry-out/step-context.ts'
import { childrenOf } from '../../../operator/children/children.ts'
import { liveChildren } from '../../../operator/children/live-children.ts'
import type { EtcdAdmin } from '../../../operator/etcd/etcd-admin.ts'
import type { Step } from '../../../operator/machines/pass/decision.ts'
import { buildSets } from '../../../operator/resources/cluster-objects.ts'
import type { ClusterInput } from '../../../operator/resources/parts/cluster-input.ts'
import { selectorLabels } from '../../../operator/resources/parts/names.ts'
import { classifyError } from '../../../operator/runtime/api/api-error.ts'
import type { ObjectRef, StoredObject } from '../../../operator/runtime/api/api-object.ts'
import type { KubernetesApi } from '../../../operator/runtime/api/kubernetes-api.ts'
import { Applier } from '../../../operator/runtime/writes/applier.ts'
import type { SecretsView } from '../../../operator/secrets/secrets-view.ts'
import type { StoreAdmin } from '../../../operator/store/store-admin.ts'
import { FakeKubernetes } from '../kubernetes/fake-kubernetes.ts'
import { recordOf } from '../kubernetes/json-merge.ts'
import { inputOf } from './cluster-inputs.ts'
import { countedKeys } from './counted-keys.ts'
import { fakeKind, OPERATOR_KINDS } from './operator-kinds.ts'

const { signal } = new AbortController()
export const WRITTEN = { nodes: { storage: { size: '10Gi' } } }

/** Answers as it is told, and notes what it was asked for. */
class Asked {
  readonly calls: unknown[][] = []
  failure: Error | undefined

  async note(...call: unknown[]): Promise<void> {
    await Promise.resolve()
    if (this.failure !== undefined) throw this.failure
    this.calls.push(call)
  }
}

export class StoreDouble extends Asked implements StoreAdmin {
  look = async () => Promise.resolve('unreachable' as const)
  handOver = (nodeID: string) => this.note('handOver', nodeID)
  drain = (of: Operation) => this.note('drain', of.nodeID, of.operation)
  undrain = (of: Operation) => this.note('undrain', of.nodeID, of.operation)
  decommission = (of: Operation) => this.note('decommission', of.nodeID, of.operation)
  forget = (nodeID: string) => this.note('forget', nodeID)
}

type Operation = Parameters<StoreAdmin['drain']>[0]

export class EtcdDouble extends Asked implements EtcdAdmin {
  look = async () => Promise.resolve('unreachable' as const)
  addMember = (podName: string) => this.note('addMember', podName)
  promoteMember = (id: string) => this.note('promoteMember', id)
  removeMember = (id: string) => this.note('removeMember', id)
  moveLeader = (of: Parameters<EtcdAdmin['moveLeader']>[0]) =>
    this.note('moveLeader', of.fromMemberID, of.toMemberID)
  defragment = (id: string) => this.note('defragment', id)
  disarmAlarm = (id: string) => this.note('disarmAlarm', id)
  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.resolve()
  }
}

/** Calls of the API that act as a defect of the executor would. */
export type Plant = (world: StepWorld, api: KubernetesApi) => Partial<KubernetesApi>

export class StepWorld {
  readonly fake = new FakeKubernetes(new ManualClock(), OPERATOR_KINDS)
  readonly store = new StoreDouble()
  readonly etcd = new EtcdDouble()
  /** Happens once, right before the executor's next write arrives. */
  beforeWrite: (() => Promise<unknown>) | undefined
  input: ClusterInput = inputOf(WRITTEN)
  outdatedSecrets: readonly string[] = []
  readonly #decided = new Map<string, { uid: string; resourceVersion: string }>()
  readonly #api: KubernetesApi
  readonly #applier: Applier
  readonly #executor: StepExecutor

  private constructor(plant: Plant) {
    const hooked = this.#hooked()
    this.#api = { ...hooked, ...plant(this, hooked) }
    this.#applier = new Applier(this.#api)
    this.#executor = new StepExecutor({
      api: this.#api,
      applier: this.#applier,
      clock: new ManualClock(),
      keys: countedKeys(),
      random: (bytes) => new Uint8Array(bytes).fill(7),
    })
  }

  /** A cluster whose objects are all there, with the highest pod of its nodes and that one's claim. */
  static async open(plant: Plant = () => ({})): Promise<StepWorld> {
    const world = new StepWorld(plant)
    const { fake } = world
    const { name, namespace, spec } = world.input.cluster
    const cluster = await fake.create(
      CLUSTER_KIND,
      {
        apiVersion: 'quarry.dev/v1alpha1',
        kind: 'StoreCluster',
        metadata: { name, namespace },
        spec,
      },
      signal,
    )
    world.input = {
      ...world.input,
      cluster: { ...world.input.cluster, uid: cluster.metadata.uid },
    }
    await world.applySets()
    const labels = selectorLabels(name, 'node')
    await world.create('Pod/books-node-2', { labels })
    await world.create('PersistentVolumeClaim/data-books-node-2', { labels }, CLAIM_SPEC)
    for (const wish of (await world.context()).wishes.values()) {
      await world.#applier.apply(wish, signal)
    }
    return world
  }

  async applySets(): Promise<void> {
    for (const set of buildSets(this.input)) {
      const kind = fakeKind(set.kind)
      await this.fake.apply({ kind, object: { ...set }, force: true }, signal)
    }
  }

  /** What a pass that begins now reads. */
  async context(): Promise<StepContext> {
    const { namespace } = this.input.cluster
    const cached = OPERATOR_KINDS.flatMap((kind) =>
      this.fake.store.select({ kind, namespace, labelSelector: 'app.kubernetes.io/name=quarry' }),
    )
    const live = await liveChildren(this.fake, { input: this.input, cached }, signal)
    const secrets = { ...NO_SECRETS, outdated: this.outdatedSecrets }
    const { wishes } = childrenOf({ input: this.input, live, secrets, applier: this.#applier })
    const cluster = await this.get('StoreCluster/books')
    if (cluster === undefined) throw new RangeError('the cluster is gone')
    const liveSets = {
      nodes: await this.get('StatefulSet/books-node'),
      etcd: await this.get('StatefulSet/books-etcd'),
    }
    for (const { kind, metadata } of OPERATOR_KINDS.flatMap((one) =>
      this.fake.store.select({ kind: one, namespace, labelSelector: '' }),
    )) {
      const { uid, resourceVersion } = metadata
      this.#decided.set(`${kind}/${metadata.name}`, { uid, resourceVersion })
    }
    const { input, store, etcd } = this
    return { cluster, input, wishes, liveSets, secrets, store, etcd }
  }

  /** The outcome, or the class of the error. */
  async carryOut(step: Step, context: StepContext): Promise<string> {
    try {
      return await this.#executor.carryOut(step, context, signal)
    } catch (error) {
      return classifyError(error)
    }
  }

  /** The object of a `Kind/name`. */
  ref(kindAndName: string): ObjectRef {
    const [kind = '', name = ''] = kindAndName.split('/')
    return { kind: fakeKind(kind), namespace: this.input.cluster.namespace, name }
  }

  get(name: string): Promise<StoredObject | undefined> {
    return this.fake.get(this.ref(name), signal)
  }

  async must(name: string): Promise<StoredObject> {
    const found = await this.get(name)
    if (found === undefined) throw new RangeError(`${name} is gone`)
    return found
  }

  /** The value at a path such as `spec.replicas`; undefined if there is none, or no such object. */
  async at(name: string, path: string): Promise<unknown> {
    const object: unknown = await this.get(name)
    return path.split('.').reduce((value, member) => recordOf(value)[member], object)
  }

  /** Its UID and version, as a step has them. */
  async version(name: string): Promise<{ uid: string; resourceVersion: string }> {
    const { uid, resourceVersion } = (await this.must(name)).metadata
    return { uid, resourceVersion }
  }

  create(name: string, metadata: object = {}, spec: object = {}): Promise<StoredObject> {
    const { kind, namespace, name: objectName } = this.ref(name)
    const apiVersion = kind.group === '' ? 'v1' : `${kind.group}/${kind.version}`
    const named = { ...metadata, name: objectName, namespace }
    return this.fake.create(kind, { apiVersion, kind: kind.kind, metadata: named, spec }, signal)
  }

  merge(name: string, value: unknown): Promise<StoredObject> {
    const patch = { type: 'merge', value } as const
    return this.fake.patch({ ref: this.ref(name), patch, part: 'object' }, signal)
  }

  /** Somebody edits it. */
  touch(name: string): Promise<StoredObject> {
    return this.merge(name, {
      metadata: { annotations: { 'test/touched': `${this.fake.store.version}` } },
    })
  }

  async remove(name: string): Promise<void> {
    await this.merge(name, { metadata: { finalizers: null } })
    const { uid, resourceVersion } = (await this.must(name)).metadata
    const ref = this.ref(name)
    await this.fake.delete({ ref, uid, resourceVersion, propagation: 'Background' }, signal)
  }

  /** Somebody else makes another object of the name. */
  async replace(name: string): Promise<StoredObject> {
    const { metadata, spec } = await this.must(name)
    await this.remove(name)
    return this.create(name, { labels: metadata.labels ?? {} }, Object(spec))
  }

  /** Requests that may have changed something. */
  writes(): number {
    return this.fake.requests.filter(({ verb }) => verb !== 'get' && verb !== 'list').length
  }

  /** The object with the identity that the one of its name had when the last context was read. */
  asDecided(ref: ObjectRef, live: StoredObject | undefined): StoredObject | undefined {
    const decided = this.#decided.get(`${ref.kind.kind}/${ref.name}`)
    return live && { ...live, metadata: { ...live.metadata, ...decided } }
  }

  /** What is to happen before the next write happens now. */
  async comeLate(): Promise<void> {
    const { beforeWrite } = this
    this.beforeWrite = undefined
    await beforeWrite?.()
  }

  #hooked(): KubernetesApi {
    const { fake } = this
    const first = async <T>(write: () => Promise<T>): Promise<T> => {
      await this.comeLate()
      return write()
    }
    return {
      list: (selection, page) => fake.list(selection, page, signal),
      watch: (request) => fake.watch(request, signal),
      get: (ref) => fake.get(ref, signal),
      create: (kind, object) => first(() => fake.create(kind, object, signal)),
      replace: (kind, object) => first(() => fake.replace(kind, object, signal)),
      apply: (request) => first(() => fake.apply(request, signal)),
      patch: (request) => first(() => fake.patch(request, signal)),
      delete: (request) => first(() => fake.delete(request, signal)),
    }
  }
}

export const NO_SECRETS: SecretsView = {
  problems: [],
  outdated: [],
  foreign: [],
  secretHash: '',
  authorityHash: '',
  hasEtcdCertificate: false,
  etcdTls: undefined,
}
const CLAIM_SPEC = { resources: { requests: { storage: '10Gi' } } }
