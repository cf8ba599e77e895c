// Whether the objects now open have member names twice, by 32-bit hashes of the names.
//
// Each depth has a one-word Bloom filter, a short list, and beyond that a HashSet; so the common
// object costs one test for each member, and one of a million members has no long step.
// Different names of equal hash count as duplicates: the answer may err to true, never to false.

import { HashSet } from './hash-set.ts'

const LIST_MAX = 32

export class MemberNames {
  hasDuplicates = false
  // Plain arrays, because every request body makes some of these and few documents nest deep.
  readonly #filters: number[] = []
  readonly #counts: number[] = []
  readonly #lists: number[][] = []
  /** By depth; defined while an object there has more than LIST_MAX members. */
  readonly #sets: (HashSet | undefined)[] = []

  reset(): void {
    this.hasDuplicates = false
  }

  /** A new object begins at this depth. */
  enter(depth: number): void {
    this.#filters[depth] = 0
    this.#counts[depth] = 0
  }

  add(depth: number, hash: number): void {
    if (this.hasDuplicates) return
    const count = this.#counts[depth] ?? 0
    if (count >= LIST_MAX) {
      this.#addToSet(depth, hash)
      return
    }
    const list = this.#listAt(depth)
    const bit = 1 << (hash >>> 27)
    const filter = this.#filters[depth] ?? 0
    if ((filter & bit) !== 0 && isListed(list, count, hash)) this.hasDuplicates = true
    this.#filters[depth] = filter | bit
    list[count] = hash
    this.#counts[depth] = count + 1
  }

  #listAt(depth: number): number[] {
    const known = this.#lists[depth]
    if (known !== undefined) return known
    const list: number[] = []
    this.#lists[depth] = list
    return list
  }

  #addToSet(depth: number, hash: number): void {
    let seen = this.#sets[depth]
    if (seen === undefined || this.#counts[depth] === LIST_MAX) {
      seen = new HashSet()
      for (const listed of this.#listAt(depth)) seen.add(listed)
      this.#sets[depth] = seen
      this.#counts[depth] = LIST_MAX + 1
    }
    if (!seen.add(hash)) this.hasDuplicates = true
  }
}

function isListed(list: readonly number[], count: number, hash: number): boolean {
  for (let index = 0; index < count; index++) {
    if (list[index] === hash) return true
  }
  return false
}
