// Finds repeated member names in the objects that are open, by 32-bit hashes of the names.
//
// Each depth has a Bloom filter of one word, a short list, and a HashSet for longer objects. So an
// ordinary object costs one test for each member, and an object of a million members has no long
// step. Different names of equal hash count as duplicates: `hasDuplicates` may be true without a
// duplicate, and is never false with one.

import { HashSet } from './hash-set.ts'

const LIST_MAX = 32

/**
 * Collects the names of one value. `reset` begins the next value; `enter` begins an object at a
 * depth.
 */
export class MemberNames {
  hasDuplicates = false
  // Plain arrays, because every request body creates them and few documents nest deeply.
  readonly #filters: number[] = []
  readonly #counts: number[] = []
  readonly #lists: number[][] = []
  /** By depth: defined while the object there has more than LIST_MAX members. */
  readonly #sets: (HashSet | undefined)[] = []

  reset(): void {
    this.hasDuplicates = false
  }

  /** Begins a new object at this depth. */
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
