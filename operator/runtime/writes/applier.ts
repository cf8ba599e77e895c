// Server-side apply without needless writes.

import { createHash } from 'node:crypto'
import { apiVersionOf, keyOf } from '../api/api-object.ts'
import type { ApiObject, ResourceKind, StoredObject } from '../api/api-object.ts'
import { ABSENT } from '../api/kubernetes-api.ts'
import type { KubernetesApi } from '../api/kubernetes-api.ts'

/** What was applied to an object, and what the API made of it. */
interface Applied {
  readonly wishHash: string
  readonly uid: string
  readonly generation: number | undefined
  readonly resourceVersion: string
}

/** A wish, and the object as a cache or a `get` has it; `live` is undefined if there is none. */
export interface Wish {
  readonly kind: ResourceKind
  readonly object: ApiObject
  readonly live: StoredObject | undefined
}

/**
 * Contract:
 * - After `apply`, the API has every field of the wish, and none that an earlier wish had and this one has not.
 * - It writes to the live object that it was given. Where that one is gone, or where there is one and none was given, the
 *   write is a conflict: an object of somebody else is never taken over.
 * - It writes nothing if `isApplied`.
 * - What it remembers of an object is dropped by `forget`. A new process applies each wish once.
 */
export class Applier {
  readonly #api: KubernetesApi
  readonly #applied = new Map<string, Applied>()

  constructor(api: KubernetesApi) {
    this.#api = api
  }

  /**
   * Whether the wish is the one that was applied last, and the live object is still what came of it: of the same UID and
   * generation (or version, for kinds that count no generations), with the metadata of the wish.
   */
  isApplied({ kind, object, live }: Wish): boolean {
    const last = this.#applied.get(keyFor(kind, object))
    if (live === undefined || last === undefined) return false
    return isUntouched(live, last, object) && last.wishHash === hashOf(object)
  }

  /** Resolves to the object as the API answers it after the apply. */
  async apply(wish: Wish, signal: AbortSignal): Promise<StoredObject> {
    const { kind, object, live } = wish
    if (live !== undefined && this.isApplied(wish)) return live
    const is = live === undefined ? { resourceVersion: ABSENT } : { uid: live.metadata.uid }
    const sent = { ...object, metadata: { ...object.metadata, ...is } }
    const stored = await this.#api.apply({ kind, object: sent, force: true }, signal)
    const { uid, generation, resourceVersion } = stored.metadata
    const applied = { wishHash: hashOf(object), uid, generation, resourceVersion }
    this.#applied.set(keyFor(kind, object), applied)
    return stored
  }

  forget(kind: ResourceKind, object: Pick<ApiObject, 'metadata'>): void {
    this.#applied.delete(keyFor(kind, object))
  }
}

/** A hash of the members and their values, whatever their order. */
export function hashOf(value: unknown): string {
  return createHash('sha256').update(canonical(value)).digest('hex')
}

function canonical(value: unknown): string {
  return JSON.stringify(value, (_name, member: unknown) =>
    typeof member === 'object' && member !== null && !Array.isArray(member)
      ? Object.fromEntries(Object.entries(member).toSorted(([a], [b]) => (a < b ? -1 : 1)))
      : member,
  )
}

function keyFor(kind: ResourceKind, { metadata }: Pick<ApiObject, 'metadata'>): string {
  return `${apiVersionOf(kind)}/${kind.plural}/${keyOf(metadata)}`
}

/** A generation does not count changes of metadata, so these are compared. */
function isUntouched({ metadata }: StoredObject, last: Applied, wish: ApiObject): boolean {
  if (metadata.uid !== last.uid || metadata.deletionTimestamp !== undefined) return false
  if (last.generation === undefined) return metadata.resourceVersion === last.resourceVersion
  return (
    metadata.generation === last.generation &&
    holds(metadata.labels, wish.metadata.labels) &&
    holds(metadata.annotations, wish.metadata.annotations) &&
    (wish.metadata.ownerReferences ?? []).every(({ uid }) =>
      metadata.ownerReferences?.some((owner) => owner.uid === uid),
    )
  )
}

type Texts = Readonly<Record<string, string>>

function holds(live: Texts = {}, wished: Texts = {}): boolean {
  return Object.entries(wished).every(([name, value]) => live[name] === value)
}
