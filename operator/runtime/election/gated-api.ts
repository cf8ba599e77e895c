// The API for those who write: the gate stands before each write.

import { NotLeadingError } from '../api/api-error.ts'
import type { KubernetesApi } from '../api/kubernetes-api.ts'

/** Whether this process may write at this very moment. */
export interface WriteGate {
  isLeading(): boolean
}

/** Reads pass. A write is sent only while the gate is open, and fails with `NotLeadingError` otherwise. */
export function gatedApi(api: KubernetesApi, gate: WriteGate): KubernetesApi {
  const whileLeading = async <T>(write: () => Promise<T>): Promise<T> => {
    if (!gate.isLeading()) throw new NotLeadingError('this process does not lead')
    return write()
  }
  return {
    list: (selection, page, signal) => api.list(selection, page, signal),
    watch: (request, signal) => api.watch(request, signal),
    get: (ref, signal) => api.get(ref, signal),
    create: (kind, object, signal) => whileLeading(() => api.create(kind, object, signal)),
    replace: (kind, object, signal) => whileLeading(() => api.replace(kind, object, signal)),
    apply: (request, signal) => whileLeading(() => api.apply(request, signal)),
    patch: (request, signal) => whileLeading(() => api.patch(request, signal)),
    delete: (request, signal) => whileLeading(() => api.delete(request, signal)),
  }
}
