// The API server itself.

import { PatchStrategy } from '@kubernetes/client-node/dist/patch.js'
import type { Clock } from '../../../lib/clock.ts'
import { isJsonRecord, isText } from '../../../lib/json-record.ts'
import { ApiError, unansweredError } from '../api/api-error.ts'
import { refOf, storedObjectOf } from '../api/api-object.ts'
import type { ApiObject, ObjectRef, ResourceKind, StoredObject } from '../api/api-object.ts'
import { FIELD_MANAGER } from '../api/kubernetes-api.ts'
import type {
  ApplyRequest,
  DeleteRequest,
  KubernetesApi,
  ListPage,
  PatchRequest,
  Selection,
  WatchEvent,
  WatchRequest,
} from '../api/kubernetes-api.ts'
import { ApiConnection } from './api-connection.ts'
import type { KubeConfig } from './kube-config.ts'
import { listPath, pathOf, queryOf, watchPath } from './request-path.ts'
import { watchEvents } from './watch-lines.ts'

/** The API server that a kubeconfig names. Objects go there and come back as JSON, not as models of the library. */
export class KubernetesClient implements KubernetesApi, AsyncDisposable {
  readonly connection: ApiConnection

  constructor(config: KubeConfig, clock: Clock) {
    this.connection = new ApiConnection(config, clock)
  }

  async list(
    selection: Selection,
    page: { readonly limit: number; readonly continueToken: string },
    signal: AbortSignal,
  ): Promise<ListPage> {
    const path = listPath(selection, page)
    const body = await this.connection.json({ method: 'GET', path }, signal)
    if (!isJsonRecord(body) || !isJsonRecord(body['metadata']) || !Array.isArray(body['items'])) {
      throw unansweredError(new Error('the API answered something other than a list'))
    }
    const { resourceVersion, continue: token } = body['metadata']
    return {
      items: body['items'].map((item) => storedIn(item, selection.kind)),
      resourceVersion: isText(resourceVersion) ? resourceVersion : '',
      continueToken: isText(token) ? token : '',
    }
  }

  async *watch(request: WatchRequest, signal: AbortSignal): AsyncGenerator<WatchEvent> {
    const body = this.connection.stream({ method: 'GET', path: watchPath(request) }, signal)
    yield* watchEvents(body, request.kind)
  }

  async get(ref: ObjectRef, signal: AbortSignal): Promise<StoredObject | undefined> {
    try {
      const body = await this.connection.json({ method: 'GET', path: pathOf(ref) }, signal)
      return storedIn(body, ref.kind)
    } catch (error) {
      if (error instanceof ApiError && error.status === 404) return undefined
      throw error
    }
  }

  async create(kind: ResourceKind, object: ApiObject, signal: AbortSignal): Promise<StoredObject> {
    const { namespace } = refOf(kind, object.metadata)
    const path = pathOf({ kind, namespace }) + MANAGED
    return storedIn(
      await this.connection.json({ method: 'POST', path, body: object }, signal),
      kind,
    )
  }

  async replace(
    kind: ResourceKind,
    object: StoredObject,
    signal: AbortSignal,
  ): Promise<StoredObject> {
    const path = pathOf(refOf(kind, object.metadata)) + MANAGED
    return storedIn(await this.connection.json({ method: 'PUT', path, body: object }, signal), kind)
  }

  async apply(request: ApplyRequest, signal: AbortSignal): Promise<StoredObject> {
    const { kind, object, force } = request
    const query = queryOf({ fieldManager: FIELD_MANAGER, force: String(force) })
    const path = pathOf(refOf(kind, object.metadata)) + query
    const contentType = PatchStrategy.ServerSideApply
    const sent = { method: 'PATCH', path, contentType, body: object } as const
    try {
      return storedIn(await this.connection.json(sent, signal), kind)
    } catch (error) {
      throw isOtherUID(error) ? conflictOf(error) : error
    }
  }

  async patch({ ref, patch, part }: PatchRequest, signal: AbortSignal): Promise<StoredObject> {
    const path = pathOf(ref) + (part === 'status' ? '/status' : '') + MANAGED
    const isJson = patch.type === 'json'
    const contentType = isJson ? PatchStrategy.JsonPatch : PatchStrategy.MergePatch
    const body = isJson ? patch.steps : patch.value
    try {
      const sent = { method: 'PATCH', path, contentType, body } as const
      return storedIn(await this.connection.json(sent, signal), ref.kind)
    } catch (error) {
      throw (isJson && isFailedTest(error)) || isOtherUID(error) ? conflictOf(error) : error
    }
  }

  async delete(request: DeleteRequest, signal: AbortSignal): Promise<void> {
    const { uid, resourceVersion, propagation } = request
    const body = {
      apiVersion: 'v1',
      kind: 'DeleteOptions',
      preconditions: { uid, resourceVersion },
      propagationPolicy: propagation,
    }
    await this.connection.json({ method: 'DELETE', path: pathOf(request.ref), body }, signal)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.connection.close()
  }
}

const MANAGED = queryOf({ fieldManager: FIELD_MANAGER })

function storedIn(body: unknown, kind: ResourceKind): StoredObject {
  const stored = storedObjectOf(body, kind)
  if (stored === undefined) throw unansweredError(new Error('the API answered no object'))
  return stored
}

/** The API answers a JSON patch whose test does not hold as invalid. Objects that are invalid have causes. */
function isFailedTest(error: unknown): error is ApiError {
  return error instanceof ApiError && error.status === 422 && error.causes.length === 0
}

/** The API takes the UID of another object for a change of the one that is there, which is invalid. */
function isOtherUID(error: unknown): error is ApiError {
  return (
    error instanceof ApiError &&
    error.status === 422 &&
    error.causes.some(({ field }) => field === 'metadata.uid')
  )
}

function conflictOf(cause: ApiError): ApiError {
  return new ApiError(cause.message, { status: 409, reason: 'Conflict', causes: [] }, { cause })
}
