// Finalizers, one at a time: those of others stay as they are.

import { refOf } from '../api/api-object.ts'
import type { ResourceKind, StoredObject } from '../api/api-object.ts'
import type { JsonPatchStep, KubernetesApi } from '../api/kubernetes-api.ts'

/** Which object gets or loses which finalizer. */
export interface FinalizerChange {
  readonly kind: ResourceKind
  readonly object: StoredObject
  readonly finalizer: string
}

/** The object with the finalizer. A conflict if the object has changed since it was read. */
export async function addFinalizer(
  api: KubernetesApi,
  { kind, object, finalizer }: FinalizerChange,
  signal: AbortSignal,
): Promise<StoredObject> {
  const { finalizers = [], resourceVersion } = object.metadata
  if (finalizers.includes(finalizer)) return object
  const add: JsonPatchStep =
    finalizers.length === 0
      ? { op: 'add', path: '/metadata/finalizers', value: [finalizer] }
      : { op: 'add', path: '/metadata/finalizers/-', value: finalizer }
  const patch = { type: 'json', steps: [isVersion(resourceVersion), add] } as const
  return api.patch({ ref: refOf(kind, object.metadata), patch, part: 'object' }, signal)
}

/** The object without the finalizer; it is gone if that was the last one and it was deleted. */
export async function removeFinalizer(
  api: KubernetesApi,
  { kind, object, finalizer }: FinalizerChange,
  signal: AbortSignal,
): Promise<StoredObject> {
  const { finalizers = [], resourceVersion } = object.metadata
  const at = finalizers.indexOf(finalizer)
  if (at === -1) return object
  const path = `/metadata/finalizers/${at}`
  const steps: readonly JsonPatchStep[] = [
    isVersion(resourceVersion),
    { op: 'test', path, value: finalizer },
    { op: 'remove', path },
  ]
  const patch = { type: 'json', steps } as const
  return api.patch({ ref: refOf(kind, object.metadata), patch, part: 'object' }, signal)
}

function isVersion(value: string): JsonPatchStep {
  return { op: 'test', path: '/metadata/resourceVersion', value }
}
