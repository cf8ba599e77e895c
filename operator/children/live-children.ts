import { buildChildren } from '../resources/cluster-objects.ts'
import type { ClusterInput } from '../resources/parts/cluster-input.ts'
import type { ObjectRef, StoredObject } from '../runtime/api/api-object.ts'
import type { KubernetesApi } from '../runtime/api/kubernetes-api.ts'
import { kindNamed } from './child-kinds.ts'
import { nameOf, setNames } from './children.ts'

/** Objects of the cluster's namespace, as the caches have them: those with the cluster's labels. */
export interface CachedChildren {
  readonly input: ClusterInput
  readonly cached: readonly StoredObject[]
}

/**
 * The children and sets of a cluster that are there. Caches have only what has our labels: an object of somebody else with a
 * needed name, or one of ours that has lost its labels, looks absent there. So each needed name that they lack is asked for.
 * While nothing is missing nobody is asked.
 */
export async function liveChildren(
  api: Pick<KubernetesApi, 'get'>,
  { input, cached }: CachedChildren,
  signal: AbortSignal,
): Promise<readonly StoredObject[]> {
  const known = new Set(cached.map(nameOf))
  const needed = [...buildChildren(input).map(nameOf), ...setNames(input)]
  const missing = needed.filter((name) => !known.has(name))
  // A cluster has some fifteen objects.
  const found = await Promise.all(
    missing.map((name) => api.get(refNamed(name, input.cluster.namespace), signal)),
  )
  return [...cached, ...found.filter((object) => object !== undefined)]
}

/** The object of a `Kind/name`. */
export function refNamed(kindAndName: string, namespace: string): ObjectRef {
  const [kind = '', name = ''] = kindAndName.split('/')
  return { kind: kindNamed(kind), namespace, name }
}
