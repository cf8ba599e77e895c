// The status of an object: written whole, when it differs, to the version that was read.

import { isDeepStrictEqual } from 'node:util'
import { isJsonRecord } from '../../../lib/json-record.ts'
import type { JsonRecord } from '../../../lib/json-record.ts'
import { refOf } from '../api/api-object.ts'
import type { ResourceKind, StoredObject } from '../api/api-object.ts'
import type { KubernetesApi } from '../api/kubernetes-api.ts'

/** The status that an object is to have. It has no member that is undefined. */
export interface StatusWish {
  readonly kind: ResourceKind
  readonly object: StoredObject
  readonly status: JsonRecord
}

/**
 * The object with exactly this status. An equal one writes nothing. A conflict if the object is not the version that was
 * read: its status was computed from that one.
 */
export async function writeStatus(
  api: KubernetesApi,
  { kind, object, status }: StatusWish,
  signal: AbortSignal,
): Promise<StoredObject> {
  const before = isJsonRecord(object['status']) ? object['status'] : {}
  if (isDeepStrictEqual(before, status)) return object
  const { resourceVersion } = object.metadata
  const value = { metadata: { resourceVersion }, status: mergePatchOf(before, status) }
  const patch = { type: 'merge', value } as const
  return api.patch({ ref: refOf(kind, object.metadata), patch, part: 'status' }, signal)
}

/** The merge patch (RFC 7386) that makes `after` of `before`: what is gone is null. */
export function mergePatchOf(before: JsonRecord, after: JsonRecord): JsonRecord {
  const gone = Object.keys(before).filter((name) => !(name in after))
  const changed = Object.entries(after).filter(
    ([name, value]) => !isDeepStrictEqual(before[name], value),
  )
  return Object.fromEntries([
    ...gone.map((name) => [name, null] as const),
    ...changed.map(([name, value]) => [name, memberPatch(before[name], value)] as const),
  ])
}

function memberPatch(before: unknown, after: unknown): unknown {
  return isJsonRecord(before) && isJsonRecord(after) ? mergePatchOf(before, after) : after
}
