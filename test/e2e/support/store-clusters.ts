// StoreClusters as a client writes them, over the API server itself: kubectl would take a second for each of hundreds.

import { ApiException, CustomObjectsApi, KubeConfig } from '@kubernetes/client-node'
import { buildDeletionPolicy } from '../../../operator/kinds/crd/deletion-policy.ts'
import { buildStoreClusterCrd } from '../../../operator/kinds/crd/store-cluster-crd.ts'
import type { Json } from '../../support/operator/rule-cases.ts'
import { served } from './served-kind.ts'
import type { TestNamespace } from './test-namespace.ts'

const KIND = { group: 'quarry.dev', version: 'v1alpha1', plural: 'storeclusters' }
const SMALLEST: Json = { nodes: { storage: { size: '10Gi' } } }

/** The spec of a cluster of one node alone. */
export const SINGLE_NODE = {
  mode: 'SingleNode',
  nodes: { replicas: 1 },
  inference: { enabled: false },
} as const satisfies Json

/** Why the API server refused an object. */
export interface Refusal {
  readonly code: number
  readonly message: string
  readonly causes: readonly { readonly field: string; readonly message: string }[]
}

export type Answer =
  | { readonly kind: 'stored'; readonly object: Json }
  | { readonly kind: 'refused'; readonly refusal: Refusal }

/** The kind and the policy, as crds/ has them. */
export async function applyKinds(namespace: TestNamespace): Promise<void> {
  // They have no namespace: another test, or Helm, may have applied them before.
  const kinds = [buildStoreClusterCrd(), ...buildDeletionPolicy()]
  await namespace.apply(kinds, undefined, ['--force-conflicts'])
  await served(namespace.tier, `${KIND.plural}.${KIND.group}`)
}

/** An object whose spec is merged into the smallest one. */
export function manifest({ name = 'books', spec = {} }: { name?: string; spec?: Json }): Json {
  return {
    apiVersion: `${KIND.group}/${KIND.version}`,
    kind: 'StoreCluster',
    metadata: { name },
    spec: merged(SMALLEST, spec),
  }
}

/**
 * Contract:
 * - Each call resolves to the stored object, or to the reason of its refusal.
 * - `tryCreate`, `tryReplace` and `tryDelete` change nothing.
 * - `warnings` are those of the last call that was not refused.
 */
export class StoreClusters {
  readonly #api: CustomObjectsApi
  readonly #at: { group: string; version: string; plural: string; namespace: string }
  warnings = ''

  constructor(namespace: TestNamespace) {
    const config = new KubeConfig()
    config.loadFromFile(namespace.tier.kubeconfig)
    this.#api = config.makeApiClient(CustomObjectsApi)
    this.#at = { ...KIND, namespace: namespace.name }
  }

  create(body: Json): Promise<Answer> {
    return this.#ask(() =>
      this.#api.createNamespacedCustomObjectWithHttpInfo({
        ...this.#at,
        body,
        fieldValidation: 'Warn',
      }),
    )
  }

  tryCreate(body: Json): Promise<Answer> {
    const request = { ...this.#at, body, dryRun: 'All', fieldValidation: 'Warn' }
    return this.#ask(() => this.#api.createNamespacedCustomObjectWithHttpInfo(request))
  }

  tryReplace(body: Json): Promise<Answer> {
    const request = { ...this.#at, name: nameOf(body), body, dryRun: 'All' }
    return this.#ask(() => this.#api.replaceNamespacedCustomObjectWithHttpInfo(request))
  }

  writeStatus(body: Json): Promise<Answer> {
    const request = { ...this.#at, name: nameOf(body), body }
    return this.#ask(() => this.#api.replaceNamespacedCustomObjectStatusWithHttpInfo(request))
  }

  tryDelete(name: string): Promise<Answer> {
    const request = { ...this.#at, name, dryRun: 'All' }
    return this.#ask(() => this.#api.deleteNamespacedCustomObjectWithHttpInfo(request))
  }

  delete(name: string): Promise<Answer> {
    return this.#ask(() =>
      this.#api.deleteNamespacedCustomObjectWithHttpInfo({ ...this.#at, name }),
    )
  }

  async #ask(
    call: () => Promise<{ headers: Record<string, string>; data: Json }>,
  ): Promise<Answer> {
    try {
      const { headers, data } = await call()
      this.warnings = headers['warning'] ?? ''
      return { kind: 'stored', object: data }
    } catch (error) {
      if (!(error instanceof ApiException)) throw error
      const body: unknown = error.body
      const status = typeof body === 'string' ? JSON.parse(body) : body
      const causes = status.details?.causes ?? []
      return { kind: 'refused', refusal: { code: error.code, message: status.message, causes } }
    }
  }
}

/** The object that was to be stored, and was. */
export function storedObject(answer: Answer): Json {
  if (answer.kind === 'stored') return answer.object
  throw new Error(`refused: ${answer.refusal.message}`)
}

/** Why an object was refused that was to be. */
export function refusalOf(answer: Answer): Refusal {
  if (answer.kind === 'refused') return answer.refusal
  throw new Error(`accepted: ${JSON.stringify(answer.object)}`)
}

function nameOf(body: Json): string {
  return Object(body['metadata']).name
}

function merged(one: Json, other: Json): Json {
  const both = Object.entries(other).map(([key, value]) => {
    const before = one[key]
    return [key, isObject(before) && isObject(value) ? merged(before, value) : value]
  })
  return { ...one, ...Object.fromEntries(both) }
}

function isObject(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
