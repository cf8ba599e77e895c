// A namespace with Secrets, and a cluster whose operator reads and writes them.

import { ManualClock } from '../../../lib/clock.ts'
import type { KeySource } from '../../../operator/certificates/etcd-certificates.ts'
import { apiErrorOf } from '../../../operator/runtime/api/api-error.ts'
import type { StoredObject } from '../../../operator/runtime/api/api-object.ts'
import type {
  KubernetesApi,
  ListPage,
  WatchEvent,
} from '../../../operator/runtime/api/kubernetes-api.ts'
import { SECRETS as KIND } from '../../../operator/secrets/secret-content.ts'
import type { readSecrets } from '../../../operator/secrets/read-secrets.ts'
import type { SecretsView } from '../../../operator/secrets/secrets-view.ts'
import type { writeSecrets } from '../../../operator/secrets/write-secrets.ts'
import { FakeKubernetes } from '../kubernetes/fake-kubernetes.ts'
import type { FakeKind } from '../kubernetes/fake-store.ts'
import { inputOf } from './cluster-inputs.ts'
import { countedKeys } from './counted-keys.ts'

export const SECRETS: FakeKind = { ...KIND, hasStatus: false }

export const SMALLEST = { nodes: { storage: { size: '1Gi' } } }
export const NOW_MS = Date.UTC(2026, 10, 27)
export const ALL = ['Secret/books-secret', 'Secret/books-etcd-ca', 'Secret/books-etcd-tls']

const NAMESPACE = 'shop'
const { signal } = new AbortController()

/** The functions under test, or a copy of them with a defect. */
export interface SecretFunctions {
  readonly readSecrets: typeof readSecrets
  readonly writeSecrets: typeof writeSecrets
}

export class SecretWorld {
  readonly fake = new FakeKubernetes(new ManualClock(NOW_MS), [SECRETS])
  readonly #functions: SecretFunctions
  readonly #keys: KeySource = countedKeys()
  #randoms = 0
  nowMs = NOW_MS
  uid = 'uid-of-cluster'
  written: object = SMALLEST
  /** How many nodes the status remembers. */
  nodes = 0
  /** Secrets that cannot be made. */
  failing: readonly string[] = []
  /** Called after each read, by those who change something meanwhile. */
  afterGet: (name: string) => Promise<void> = () => Promise.resolve()

  constructor(functions: SecretFunctions) {
    this.#functions = functions
  }

  get input() {
    const input = inputOf(this.written, { namespace: NAMESPACE })
    return { ...input, cluster: { ...input.cluster, uid: this.uid } }
  }

  read(): Promise<SecretsView> {
    const counts = { desired: this.nodes, current: 0, ready: 0, updated: 0 }
    const cluster = { ...this.input.cluster, status: { nodes: counts } }
    return this.#functions.readSecrets(this.#api(), cluster, this.nowMs, signal)
  }

  /** As a step does for all that the view calls outdated, or for `names`. */
  async write(names: readonly string[] = ALL): Promise<void> {
    await this.writeBy(await this.read(), names)
  }

  async writeBy(view: SecretsView, names: readonly string[] = ALL): Promise<void> {
    const { input, nowMs } = this
    const random = (bytes: number): Uint8Array => {
      this.#randoms += 1
      return new Uint8Array(bytes).fill(this.#randoms)
    }
    const wish = { input, view, names, nowMs, keys: this.#keys, random }
    await this.#functions.writeSecrets(this.#api(), wish, signal)
  }

  /** Makes a Secret of people, or replaces its values. */
  async put(
    name: string,
    values: Readonly<Record<string, string>>,
    metadata: object = {},
  ): Promise<void> {
    const data = encoded(values)
    const object = { apiVersion: 'v1', kind: 'Secret', metadata: { name, namespace: NAMESPACE } }
    const live = await this.live(name)
    if (live !== undefined) await this.fake.replace(SECRETS, { ...live, data }, signal)
    else {
      const named = { ...object.metadata, ...metadata }
      await this.fake.create(SECRETS, { ...object, metadata: named, data }, signal)
    }
  }

  async change(name: string, value: object): Promise<void> {
    const patch = { type: 'merge', value } as const
    await this.fake.patch({ ref: refOf(name), patch, part: 'object' }, signal)
  }

  async remove(name: string): Promise<void> {
    const live = await this.live(name)
    if (live === undefined) return
    const { uid, resourceVersion } = live.metadata
    const which = { ref: refOf(name), uid, resourceVersion }
    await this.fake.delete({ ...which, propagation: 'Background' }, signal)
  }

  live(name: string): Promise<StoredObject | undefined> {
    return this.fake.get(refOf(name), signal)
  }

  /** Empty for an absent key or Secret. */
  async value(name: string, key: string): Promise<string> {
    const data: unknown = (await this.live(name))?.['data']
    const entry = Object.entries(data ?? {}).find(([one]) => one === key)
    return Buffer.from(String(entry?.[1] ?? ''), 'base64').toString('utf8')
  }

  /** The writes so far, each as its verb and name. */
  get writes(): readonly string[] {
    return this.fake.requests
      .filter(({ verb }) => verb === 'create' || verb === 'patch')
      .map(({ verb, name }) => `${verb} ${name}`)
  }

  #api(): KubernetesApi {
    return new Interposed(this.fake, {
      afterGet: (name) => this.afterGet(name),
      isFailing: (name) => this.failing.includes(name),
    })
  }
}

function refOf(name: string) {
  return { kind: SECRETS, namespace: NAMESPACE, name }
}

export function encoded(values: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(values).map(([key, text]) => [key, Buffer.from(text).toString('base64')]),
  )
}

interface Interposition {
  readonly afterGet: (name: string) => Promise<void>
  readonly isFailing: (name: string) => boolean
}

/** An API server after each of whose reads something may happen, and which does not make everything. */
class Interposed implements KubernetesApi {
  readonly #api: KubernetesApi
  readonly #between: Interposition

  constructor(api: KubernetesApi, between: Interposition) {
    this.#api = api
    this.#between = between
  }

  list(...args: Parameters<KubernetesApi['list']>): Promise<ListPage> {
    return this.#api.list(...args)
  }

  watch(...args: Parameters<KubernetesApi['watch']>): AsyncIterable<WatchEvent> {
    return this.#api.watch(...args)
  }

  async get(...args: Parameters<KubernetesApi['get']>): Promise<StoredObject | undefined> {
    const found = await this.#api.get(...args)
    await this.#between.afterGet(args[0].name)
    return found
  }

  async create(...args: Parameters<KubernetesApi['create']>): Promise<StoredObject> {
    if (this.#between.isFailing(args[1].metadata.name)) throw apiErrorOf(500, {})
    return this.#api.create(...args)
  }

  replace(...args: Parameters<KubernetesApi['replace']>): Promise<StoredObject> {
    return this.#api.replace(...args)
  }

  apply(...args: Parameters<KubernetesApi['apply']>): Promise<StoredObject> {
    return this.#api.apply(...args)
  }

  patch(...args: Parameters<KubernetesApi['patch']>): Promise<StoredObject> {
    return this.#api.patch(...args)
  }

  delete(...args: Parameters<KubernetesApi['delete']>): Promise<void> {
    return this.#api.delete(...args)
  }
}
