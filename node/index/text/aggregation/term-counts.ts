// How many documents have each term, for at most COUNTED_TERMS_MAX terms.

import type { Sliced } from '../../../../lib/sliced.ts'
import type { Poll } from '../poll.ts'
import type { BucketKey } from './aggregation-partial.ts'

/** Some hundred bytes each. */
const COUNTED_TERMS_MAX = 524_288
/** The cost of a look at a count. */
const LOOK_COST = 2

/**
 * The counts of a shard's terms. Where there are more than may be, the rarest half is given up: the
 * counts of others that come again later may then be too low, which `isCut` says.
 */
export class TermCounts {
  readonly #counts = new Map<BucketKey, number>()
  readonly #countedMax: number
  #isCut = false

  constructor(countedMax = COUNTED_TERMS_MAX) {
    this.#countedMax = countedMax
  }

  get byKey(): ReadonlyMap<BucketKey, number> {
    return this.#counts
  }

  get isCut(): boolean {
    return this.#isCut
  }

  /** Whether `cut` has to be called before more terms are added. */
  get isFull(): boolean {
    return this.#counts.size > this.#countedMax
  }

  add(key: BucketKey, count: number): void {
    this.#counts.set(key, (this.#counts.get(key) ?? 0) + count)
  }

  /** Drops the rarest terms, until half of `#countedMax` is left. */
  *cut(poll: Poll): Sliced<void> {
    const kept = this.#countedMax / 2
    this.#isCut = true
    for (let rare = 1; this.#counts.size > kept; rare *= 2) {
      for (const [key, count] of this.#counts) {
        if (count <= rare) this.#counts.delete(key)
        if (poll.spend(LOOK_COST)) yield poll.renewed()
        if (this.#counts.size <= kept) break
      }
    }
  }
}
