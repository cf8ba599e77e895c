// The objects of one selection, as the API last told them.
//
// Invariants:
//   OX1  An object never becomes older: what is told twice or late changes nothing, and nobody hears of it.
//   OX2  After `replace`, the index has the objects of the list, and all others are reported as changed.
//   OX3  When `onChange` hears of an object, the index has its change.
//   OX4  The index by owners has each object under all its owners, and nothing else.

import { keyOf } from '../api/api-object.ts'
import type { StoredObject } from '../api/api-object.ts'

/** Called with an object that is new, changed, or gone, after the index has the change. It must not throw. */
export type OnChange = (object: StoredObject) => void

/** The objects of one selection by their keys and owners. */
export class ObjectIndex {
  readonly #onChange: OnChange
  readonly #objects = new Map<string, StoredObject>()
  readonly #keysByOwner = new Map<string, Set<string>>()

  constructor(onChange: OnChange) {
    this.#onChange = onChange
  }

  get size(): number {
    return this.#objects.size
  }

  get(key: string): StoredObject | undefined {
    return this.#objects.get(key)
  }

  values(): IterableIterator<StoredObject> {
    return this.#objects.values()
  }

  /** The objects that name this UID among their owners. */
  ownedBy(uid: string): readonly StoredObject[] {
    const keys = this.#keysByOwner.get(uid) ?? []
    return [...keys].flatMap((key) => this.#objects.get(key) ?? [])
  }

  put(object: StoredObject): void {
    const key = keyOf(object.metadata)
    const known = this.#objects.get(key)
    if (known !== undefined && !isNewer(object, known)) return
    this.#set(key, object, known)
    this.#onChange(object)
  }

  delete(object: StoredObject): void {
    const key = keyOf(object.metadata)
    const known = this.#objects.get(key)
    if (known === undefined || isOlder(object, known)) return
    this.#drop(key, known)
    this.#onChange(known)
  }

  /** Takes over a whole list. It is the truth, also where it is older. */
  replace(objects: readonly StoredObject[]): void {
    const listed = new Map(objects.map((object) => [keyOf(object.metadata), object] as const))
    const gone = [...this.#objects].filter(([key]) => !listed.has(key))
    const changed = [...listed].filter(([key, object]) => !isSame(object, this.#objects.get(key)))
    for (const [key, object] of gone) this.#drop(key, object)
    for (const [key, object] of changed) this.#set(key, object, this.#objects.get(key))
    for (const [, object] of [...gone, ...changed]) this.#onChange(object)
  }

  #set(key: string, object: StoredObject, known: StoredObject | undefined): void {
    if (known !== undefined) this.#drop(key, known)
    this.#objects.set(key, object)
    for (const uid of ownersOf(object)) {
      const keys = this.#keysByOwner.get(uid) ?? new Set()
      this.#keysByOwner.set(uid, keys.add(key))
    }
  }

  #drop(key: string, known: StoredObject): void {
    this.#objects.delete(key)
    for (const uid of ownersOf(known)) {
      const keys = this.#keysByOwner.get(uid)
      keys?.delete(key)
      if (keys?.size === 0) this.#keysByOwner.delete(uid)
    }
  }
}

/**
 * How versions compare: below 0 if `a` is older, 0 if they are equal. Versions of one kind are whole numbers that grow
 * (https://kubernetes.io/docs/reference/using-api/api-concepts/#resource-versions); others count as newer.
 */
export function compareVersions(a: string, b: string): number {
  if (a === b) return 0
  if (!/^\d+$/.test(a) || !/^\d+$/.test(b)) return 1
  if (a.length !== b.length) return a.length - b.length
  return a < b ? -1 : 1
}

function isNewer({ metadata: a }: StoredObject, { metadata: b }: StoredObject): boolean {
  return compareVersions(a.resourceVersion, b.resourceVersion) > 0
}

function isOlder({ metadata: a }: StoredObject, { metadata: b }: StoredObject): boolean {
  return compareVersions(a.resourceVersion, b.resourceVersion) < 0
}

function isSame({ metadata: a }: StoredObject, known: StoredObject | undefined): boolean {
  return a.uid === known?.metadata.uid && a.resourceVersion === known.metadata.resourceVersion
}

function ownersOf({ metadata }: StoredObject): readonly string[] {
  return (metadata.ownerReferences ?? []).map(({ uid }) => uid)
}
