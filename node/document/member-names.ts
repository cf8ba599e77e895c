// Whether the objects now open have member names twice, by 32-bit hashes of the names.
//
// Each depth has a one-word Bloom filter, a short list, and beyond that a Set; so the common object
// costs one test for each member, and an object of a million members stays linear.
// Different names of equal hash count as duplicates: the answer may err to true, never to false.

const LIST_MAX = 32
/** Few documents nest deeper, and every request body makes one of these. */
const FIRST_DEPTHS = 8

export class MemberNames {
  hasDuplicates = false
  #filters = new Int32Array(FIRST_DEPTHS)
  #counts = new Int32Array(FIRST_DEPTHS)
  #lists = new Int32Array(FIRST_DEPTHS * LIST_MAX)
  /** By depth; defined while an object there has more than LIST_MAX members. */
  readonly #sets: (Set<number> | undefined)[] = []

  reset(): void {
    this.hasDuplicates = false
  }

  /** A new object begins at this depth. */
  enter(depth: number): void {
    if (depth >= this.#counts.length) this.#grow()
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
    const first = depth * LIST_MAX
    const bit = 1 << (hash >>> 27)
    const filter = this.#filters[depth] ?? 0
    if ((filter & bit) !== 0 && this.#isListed(first, first + count, hash)) {
      this.hasDuplicates = true
    }
    this.#filters[depth] = filter | bit
    this.#lists[first + count] = hash
    this.#counts[depth] = count + 1
  }

  #grow(): void {
    const depths = this.#counts.length * 2
    this.#filters = enlarged(this.#filters, depths)
    this.#counts = enlarged(this.#counts, depths)
    this.#lists = enlarged(this.#lists, depths * LIST_MAX)
  }

  #isListed(from: number, to: number, hash: number): boolean {
    for (let index = from; index < to; index++) {
      if (this.#lists[index] === hash) return true
    }
    return false
  }

  #addToSet(depth: number, hash: number): void {
    let seen = this.#sets[depth]
    if (seen === undefined || this.#counts[depth] === LIST_MAX) {
      const first = depth * LIST_MAX
      seen = new Set(this.#lists.subarray(first, first + LIST_MAX))
      this.#sets[depth] = seen
      this.#counts[depth] = LIST_MAX + 1
    }
    if (seen.has(hash)) this.hasDuplicates = true
    seen.add(hash)
  }
}

function enlarged(array: Int32Array, length: number): Int32Array<ArrayBuffer> {
  const larger = new Int32Array(length)
  larger.set(array)
  return larger
}
