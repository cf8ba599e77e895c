// What the tests of the whole operator have in common: a namespace in which pods seem to run, an operator, and waits.

import { must } from '../../../../lib/assert.ts'
import { systemClock } from '../../../../lib/clock.ts'
import type { StoreClusterStatus } from '../../../../operator/kinds/cluster/status.ts'
import { kindNamed } from '../../../../operator/children/child-kinds.ts'
import type { StoredObject } from '../../../../operator/runtime/api/api-object.ts'
import { KubernetesClient } from '../../../../operator/runtime/client/kubernetes-client.ts'
import type { Json } from '../../../support/operator/rule-cases.ts'
import { eventually } from '../eventually.ts'
import { applyKinds, manifest } from '../store-clusters.ts'
import type { TestNamespace } from '../test-namespace.ts'
import { StubKubelet } from './stub-kubelet.ts'
import { VOLUME_OF, VOLUMES } from './stub-volume.ts'
import { adminConfig, applyAccount, TestedOperator } from './tested-operator.ts'
import type { TestedOptions } from './tested-operator.ts'

const { signal } = new AbortController()
const PAGE = { limit: 500, continueToken: '' }
const OWNED = [
  'StatefulSet',
  'Service',
  'ConfigMap',
  'ServiceAccount',
  'PodDisruptionBudget',
  'NetworkPolicy',
] as const

/** A status of a cluster that has one. */
export type Status = StoreClusterStatus & { readonly deleted?: boolean }

/** An event that recurred has a series. */
interface EventCount {
  readonly series?: { readonly count: number }
}

export class Scene implements AsyncDisposable {
  readonly namespace: TestNamespace
  readonly api: KubernetesClient
  readonly kubelet: StubKubelet
  #operator: TestedOperator | undefined

  private constructor(namespace: TestNamespace) {
    this.namespace = namespace
    this.api = new KubernetesClient(adminConfig(namespace), systemClock)
    this.kubelet = new StubKubelet(this.api, namespace.name)
    this.kubelet.hurries = true
  }

  /** With an operator that runs, unless it is said otherwise. */
  static async open(
    namespace: TestNamespace,
    { isStarted = true }: { readonly isStarted?: boolean } = {},
  ): Promise<Scene> {
    await applyKinds(namespace)
    await applyAccount(namespace)
    const scene = new Scene(namespace)
    if (isStarted) scene.#operator = await scene.start()
    return scene
  }

  get operator(): TestedOperator {
    return must(this.#operator, 'an operator that runs')
  }

  start(options: Omit<TestedOptions, 'namespace' | 'admins'> = {}): Promise<TestedOperator> {
    const { namespace } = this
    return TestedOperator.start({ namespace, admins: this.kubelet.admins(), ...options })
  }

  async apply(name: string, spec: Json): Promise<void> {
    await this.namespace.apply(manifest({ name, spec }))
  }

  /** The spec with these fields changed. */
  async edit(name: string, spec: Json): Promise<void> {
    await this.namespace.kubectl([
      'patch',
      'storecluster',
      name,
      '--type=merge',
      '-p',
      JSON.stringify({ spec }),
    ])
  }

  async cluster(name: string): Promise<StoredObject | undefined> {
    const ref = { kind: kindNamed('StoreCluster'), namespace: this.namespace.name, name }
    return this.api.get(ref, signal)
  }

  async status(name: string): Promise<Status> {
    const object = await this.cluster(name)
    return JSON.parse(JSON.stringify(object?.['status'] ?? {}))
  }

  /** The status as soon as it is about the present spec and fits. */
  async becomes(name: string, what: string, isIt: (status: Status) => boolean): Promise<Status> {
    const answer = await eventually(
      `${name} ${what}`,
      async () => {
        const object = await this.cluster(name)
        const status: Status = JSON.parse(JSON.stringify(object?.['status'] ?? {}))
        return { status, generation: object?.metadata.generation }
      },
      ({ status, generation }) => status.observedGeneration === generation && isIt(status),
    )
    return answer.status
  }

  /** The status as soon as the cluster is ready, and has no operation. */
  ready(name: string, nodes?: number): Promise<Status> {
    return this.becomes(name, 'is ready', (status) => {
      const desired = status.nodes?.desired
      const isReady = conditionOf(status, 'Ready')?.status === 'True'
      const isAsMany = nodes === undefined || (desired === nodes && status.nodes?.ready === nodes)
      return isReady && status.operation === undefined && isAsMany
    })
  }

  /** After so many passes an operator that would do something has done it. */
  async looksAgain(name: string, passes = 5): Promise<void> {
    const { store } = this.kubelet.cluster(name)
    const before = store.looks
    await eventually(
      `${name} is looked at`,
      async () => store.looks,
      (looks) => looks >= before + passes,
    )
  }

  /** How often people were told of this cluster for a reason. */
  async eventCount(name: string, reason: string): Promise<number> {
    const fields = `regarding.name=${name},reason=${reason}`
    const asked = ['get', 'events.v1.events.k8s.io', `--field-selector=${fields}`, '-o', 'json']
    const { items }: { items: EventCount[] } = JSON.parse(await this.namespace.kubectl(asked))
    return items.reduce((sum, { series }) => sum + (series?.count ?? 1), 0)
  }

  async gone(name: string): Promise<void> {
    await eventually(
      `${name} is gone`,
      () => this.cluster(name),
      (object) => object === undefined,
    )
  }

  /** `Kind/name` of what the cluster owns or has as a Secret. */
  async objectsOf(cluster: string): Promise<readonly string[]> {
    const lists = [...OWNED, 'Secret'].map(async (kind) => {
      const found: { items: StoredObject[] } = JSON.parse(
        await this.namespace.kubectl([
          'get',
          kind,
          '-o',
          'json',
          '-l',
          `app.kubernetes.io/instance=${cluster}`,
        ]),
      )
      return found.items
    })
    const all = (await Promise.all(lists)).flat()
    return all
      .filter(({ metadata }) => !metadata.name.startsWith('nudge-'))
      .map(({ kind, metadata }) => `${kind}/${metadata.name}`)
      .toSorted()
  }

  async list(kind: string, cluster: string): Promise<readonly StoredObject[]> {
    const selection = {
      kind: kindNamed(kind),
      namespace: this.namespace.name,
      labelSelector: `app.kubernetes.io/instance=${cluster}`,
    }
    return (await this.api.list(selection, PAGE, signal)).items
  }

  /** UIDs by name. */
  async uids(kind: string, cluster: string): Promise<Readonly<Record<string, string>>> {
    const objects = await this.list(kind, cluster)
    return Object.fromEntries(objects.map(({ metadata }) => [metadata.name, metadata.uid]))
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#operator?.[Symbol.asyncDispose]()
    await this.kubelet[Symbol.asyncDispose]()
    const selection = {
      kind: VOLUMES,
      namespace: '',
      labelSelector: `${VOLUME_OF}=${this.namespace.name}`,
    }
    const { items } = await this.api.list(selection, PAGE, signal)
    for (const { metadata } of items) {
      const { name, uid, resourceVersion } = metadata
      const ref = { kind: VOLUMES, namespace: '', name }
      const request = { ref, uid, resourceVersion, propagation: 'Background' } as const
      await this.api.delete(request, signal).catch(() => undefined)
    }
    await this.api[Symbol.asyncDispose]()
  }
}

export function conditionOf({ conditions }: Status, type: string) {
  return conditions?.find((one) => one.type === type)
}
