// The objects of one selection, as the API last told them.
//
// Invariants:
//   OX1  An object never becomes older: what is told twice or late changes nothing, and nobody hears of it.
//   OX2  After `replace`, the index has the objects of the list, and all others are reported as changed.
//   OX3  When `onChange` hears of an object, the index has its change.
//   OX4  A group has the objects that are of it as they were told last, and no others.

import { keyOf } from '../api/api-object.ts'
import type { StoredObject } from '../api/api-object.ts'

/** Called with an object that is new, changed, or gone, after the index has the change. It must not throw. */
export type OnChange = (object: StoredObject) => void

/** The group that an object is of, by its content; `undefined` for none. */
export type GroupOf = (object: StoredObject) => string | undefined

/** The objects of one selection by their keys and groups. */
export class ObjectIndex {
  readonly #onChange: OnChange
  readonly #groupOf: GroupOf
  readonly #objects = new Map<string, StoredObject>()
  readonly #groups = new Map<string, Map<string, StoredObject>>()

  constructor(onChange: OnChange, groupOf: GroupOf) {
    this.#onChange = onChange
    this.#groupOf = groupOf
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

  inGroup(group: string): readonly StoredObject[] {
    return [...(this.#groups.get(group)?.values() ?? [])]
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
    const group = this.#groupOf(object)
    if (group === undefined) return
    const members = this.#groups.get(group) ?? new Map<string, StoredObject>()
    this.#groups.set(group, members.set(key, object))
  }

  #drop(key: string, known: StoredObject): void {
    this.#objects.delete(key)
    const group = this.#groupOf(known)
    if (group === undefined) return
    const members = this.#groups.get(group)
    members?.delete(key)
    if (members?.size === 0) this.#groups.delete(group)
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
