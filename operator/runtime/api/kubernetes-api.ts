// All that the operator knows of the API server.

import type { ApiObject, ObjectRef, ResourceKind, StoredObject } from './api-object.ts'

/** Which objects of a kind a list or a watch is about. An empty namespace means all of them. */
export interface Selection {
  readonly kind: ResourceKind
  readonly namespace: string
  /** Such as `app.kubernetes.io/name=quarry,app.kubernetes.io/component=node`. Empty selects everything. */
  readonly labelSelector: string
}

/** One page of a list. */
export interface ListPage {
  readonly items: readonly StoredObject[]
  /** The moment of the list: a watch continues from here. The same for all pages of one list. */
  readonly resourceVersion: string
  /** Empty on the last page. */
  readonly continueToken: string
}

export type WatchEvent =
  | { readonly type: 'added' | 'modified' | 'deleted'; readonly object: StoredObject }
  /** Nothing changed up to this version. */
  | { readonly type: 'bookmark'; readonly resourceVersion: string }

/** Kubernetes allows whole seconds alone. */
export interface WatchRequest extends Selection {
  readonly resourceVersion: string
  /** After this the API ends the watch. */
  readonly timeoutSeconds: number
}

/** One step of a JSON patch (RFC 6902). `path` is a JSON pointer. */
export interface JsonPatchStep {
  readonly op: 'add' | 'remove' | 'replace' | 'test'
  readonly path: string
  readonly value?: unknown
}

/** A change of one object. */
export type ObjectPatch =
  | { readonly type: 'json'; readonly steps: readonly JsonPatchStep[] }
  /** A member that is null is removed. `metadata.resourceVersion` makes it conditional. */
  | { readonly type: 'merge'; readonly value: unknown }

/** The part of an object that a write is about. */
export type Subresource = 'object' | 'status'

/** A patch of one part of an object. */
export interface PatchRequest {
  readonly ref: ObjectRef
  readonly patch: ObjectPatch
  readonly part: Subresource
}

/** What happens to the objects that the deleted one owns. */
export type Propagation = 'Background' | 'Foreground' | 'Orphan'

/** Deletes the very object that was read, and no other one of its name. */
export interface DeleteRequest {
  readonly ref: ObjectRef
  readonly uid: string
  readonly resourceVersion: string
  readonly propagation: Propagation
}

/** A wish for an object, in which the fields are that this operator decides on. */
export interface ApplyRequest {
  readonly kind: ResourceKind
  readonly object: ApiObject
  /** Takes fields over that other managers own. Otherwise such a field is a conflict. */
  readonly force: boolean
}

/**
 * The API server, as far as the operator uses it.
 *
 * Contract, checked for every implementation by test/conformance/kubernetes-api.ts:
 * - Objects are JSON in and out. No field of a kind is renamed, added or left out, except `managedFields`.
 * - A refusal is an `ApiError` with the API's status, reason and causes. Without an answer its status is `NO_ANSWER`.
 * - An aborted signal rejects with the signal's reason. A write may have happened.
 * - Every call but `watch` ends after a timeout of the implementation, as one without an answer.
 * - `get` of what is absent answers undefined, also if the kind is not served.
 * - `list` answers pages in the order of the API. An outdated continue token is refused with 410.
 * - `watch` gives each change after `resourceVersion` once, in order, until the API or `signal` ends it. A version whose
 *   history is gone is refused with 410, before or in the stream. Bookmarks are asked for.
 * - `create` of what exists, `replace` and `patch` of another version, `patch` of another UID, and `delete` of another one
 *   than the named object are conflicts (409). `replace`, `patch` and `delete` of what is absent are refused with 404.
 * - A JSON patch whose test does not hold is a conflict (409).
 * - `apply` is server-side apply by the one field manager: it creates what is absent, removes what this manager applied
 *   before and does not now, and leaves fields of others alone. If it changes nothing, the version stays.
 * - `apply` with a UID or a version is a conflict (409) unless the object has both; an absent object has no UID. With the
 *   version `ABSENT` it creates the object, and is a conflict if there is one.
 * - Writes of the `object` leave its status alone, and writes of the `status` everything else, for kinds that have both.
 */
export interface KubernetesApi {
  list(
    selection: Selection,
    page: { readonly limit: number; readonly continueToken: string },
    signal: AbortSignal,
  ): Promise<ListPage>
  watch(request: WatchRequest, signal: AbortSignal): AsyncIterable<WatchEvent>
  get(ref: ObjectRef, signal: AbortSignal): Promise<StoredObject | undefined>
  create(kind: ResourceKind, object: ApiObject, signal: AbortSignal): Promise<StoredObject>
  /** `object` has the version that it replaces. */
  replace(kind: ResourceKind, object: StoredObject, signal: AbortSignal): Promise<StoredObject>
  apply(request: ApplyRequest, signal: AbortSignal): Promise<StoredObject>
  patch(request: PatchRequest, signal: AbortSignal): Promise<StoredObject>
  delete(request: DeleteRequest, signal: AbortSignal): Promise<void>
}

/**
 * A version that no object has: etcd's history begins with it, before the first object of any Kubernetes. A `create` would
 * refuse a taken name, too, but what it has written is never removed by a later `apply`.
 */
export const ABSENT = '1'

/** The one field manager of everything that the operator writes. */
export const FIELD_MANAGER = 'quarry-operator'
