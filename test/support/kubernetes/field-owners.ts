// Which manager owns which leaves of an object, as server-side apply has it.

import { isDeepStrictEqual } from 'node:util'
import { ApiError } from '../../../operator/runtime/api/api-error.ts'
import type { ApiObject } from '../../../operator/runtime/api/api-object.ts'
import { leafAt, leavesOf, namesIn, recordOf, setLeaf } from './json-merge.ts'
import type { Json } from './json-merge.ts'

/** What names an object is owned by nobody, nor is what the server writes. */
const UNOWNED = ['name', 'namespace', 'uid', 'resourceVersion', 'generation', 'creationTimestamp']

/**
 * The owners of one object's leaves. As in the API, what a manager applies and what it writes otherwise have two owners.
 */
export class FieldOwners {
  readonly #pathsByOwner = new Map<string, Set<string>>()

  /** Notes a usual write: its author owns what it changed. */
  noteWrite(owner: string, before: Readonly<Json>, after: Readonly<Json>): void {
    const old = ownedLeaves(before)
    const changed = [...ownedLeaves(after)].filter(
      ([path, value]) => !isDeepStrictEqual(old.get(path), value),
    )
    for (const [path] of changed) {
      for (const paths of this.#pathsByOwner.values()) paths.delete(path)
      this.#pathsOf(owner).add(path)
    }
  }

  /** The object with the wish applied. Throws the conflict of the API unless `force`. */
  apply(
    live: Json,
    wish: ApiObject,
    { owner, force }: { readonly owner: string; readonly force: boolean },
  ): Json {
    const wished = ownedLeaves(wish)
    const others = [...this.#pathsByOwner].filter(([name]) => name !== owner)
    const taken = [...wished].filter(
      ([path, value]) =>
        !isDeepStrictEqual(leafAt(live, path), value) &&
        others.some(([, paths]) => paths.has(path)),
    )
    if (taken.length > 0 && !force) throw conflictOf(taken.map(([path]) => path))
    const result = structuredClone(live)
    for (const path of this.#pathsOf(owner)) {
      if (!wished.has(path) && !others.some(([, paths]) => paths.has(path))) {
        setLeaf(result, path, undefined)
      }
    }
    for (const [path, value] of wished) setLeaf(result, path, value)
    for (const [path] of taken) for (const [, paths] of others) paths.delete(path)
    this.#pathsByOwner.set(owner, new Set(wished.keys()))
    return result
  }

  #pathsOf(owner: string): Set<string> {
    const paths = this.#pathsByOwner.get(owner) ?? new Set()
    this.#pathsByOwner.set(owner, paths)
    return paths
  }
}

function ownedLeaves(object: Readonly<Json>): Map<string, unknown> {
  const { apiVersion: _, kind: __, metadata, ...rest } = object
  const named = Object.entries(recordOf(metadata)).filter(([name]) => !UNOWNED.includes(name))
  const owned = named.length === 0 ? rest : { ...rest, metadata: Object.fromEntries(named) }
  return Object.keys(owned).length === 0 ? new Map() : leavesOf(owned)
}

function conflictOf(paths: readonly string[]): ApiError {
  const causes = paths.map((path) => ({
    reason: 'FieldManagerConflict',
    field: `.${namesIn(path).join('.')}`,
    message: 'conflict with another manager',
  }))
  const message = `Apply failed with ${paths.length} conflicts`
  return new ApiError(message, { status: 409, reason: 'Conflict', causes })
}
