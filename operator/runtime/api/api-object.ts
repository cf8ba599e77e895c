// Objects of Kubernetes as the API sends them: JSON, read as far as the runtime must know it.

import { isJsonRecord, isText, isWhole } from '../../../lib/json-record.ts'

/** One kind of object, and where the API serves it. */
export interface ResourceKind {
  /** Empty for the core group. */
  readonly group: string
  readonly version: string
  readonly plural: string
  readonly kind: string
  readonly namespaced: boolean
}

/** The name of one object. `namespace` is empty for kinds without namespaces. */
export interface ObjectRef {
  readonly kind: ResourceKind
  readonly namespace: string
  readonly name: string
}

/** An owner of an object: when it is gone, Kubernetes deletes the object. */
export interface OwnerReference {
  readonly apiVersion: string
  readonly kind: string
  readonly name: string
  readonly uid: string
  readonly controller?: boolean
  readonly blockOwnerDeletion?: boolean
}

/** What a wish may say of its metadata. */
export interface ObjectMetadata {
  readonly name: string
  readonly namespace?: string
  readonly labels?: Readonly<Record<string, string>>
  readonly annotations?: Readonly<Record<string, string>>
  readonly ownerReferences?: readonly OwnerReference[]
  readonly finalizers?: readonly string[]
  readonly uid?: string
  readonly resourceVersion?: string
  readonly generation?: number
  readonly deletionTimestamp?: string
}

/** An object as somebody wishes it. All other members are those of its kind, in their JSON form. */
export interface ApiObject {
  readonly apiVersion: string
  readonly kind: string
  readonly metadata: ObjectMetadata
  readonly [field: string]: unknown
}

/** An object as the API has stored it. Its identity and version are known. */
export interface StoredObject extends ApiObject {
  readonly metadata: ObjectMetadata & { readonly uid: string; readonly resourceVersion: string }
}

/** `apps/v1`, or `v1` for the core group. */
export function apiVersionOf({ group, version }: ResourceKind): string {
  return group === '' ? version : `${group}/${version}`
}

/** The key of an object in queues and caches. Names contain no slash. */
export function keyOf({ namespace = '', name }: ObjectMetadata): string {
  return namespace === '' ? name : `${namespace}/${name}`
}

export function refOf(kind: ResourceKind, { namespace = '', name }: ObjectMetadata): ObjectRef {
  return { kind, namespace, name }
}

/**
 * The stored object that a value of the API is; undefined for anything else. Items of lists lack their kind, so
 * `kind` gives it. `managedFields` are left out: nothing reads them, and they are often half of an object.
 */
export function storedObjectOf(value: unknown, kind: ResourceKind): StoredObject | undefined {
  if (!isJsonRecord(value) || !isStoredMetadata(value['metadata'])) return undefined
  const metadata = withoutManagedFields(value['metadata'])
  return { ...value, apiVersion: apiVersionOf(kind), kind: kind.kind, metadata }
}

function withoutManagedFields(metadata: StoredObject['metadata']): StoredObject['metadata'] {
  if (!('managedFields' in metadata)) return metadata
  const { managedFields: _, ...rest } = metadata
  return rest
}

function isStoredMetadata(value: unknown): value is StoredObject['metadata'] {
  return (
    isJsonRecord(value) &&
    isText(value['name']) &&
    isText(value['uid']) &&
    isText(value['resourceVersion']) &&
    isAbsentOr(value['namespace'], isText) &&
    isAbsentOr(value['generation'], isWhole) &&
    isAbsentOr(value['deletionTimestamp'], isText) &&
    ['labels', 'annotations'].every((name) => isAbsentOr(value[name], isTextRecord)) &&
    isAbsentOr(value['finalizers'], (list) => Array.isArray(list) && list.every(isText)) &&
    isAbsentOr(value['ownerReferences'], (list) => Array.isArray(list) && list.every(isOwner))
  )
}

function isOwner(value: unknown): boolean {
  return (
    isJsonRecord(value) &&
    ['apiVersion', 'kind', 'name', 'uid'].every((name) => isText(value[name]))
  )
}

function isTextRecord(value: unknown): boolean {
  return isJsonRecord(value) && Object.values(value).every(isText)
}

function isAbsentOr(value: unknown, isRight: (value: unknown) => boolean): boolean {
  return value === undefined || isRight(value)
}
