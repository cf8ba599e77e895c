// How large the next batch of a model may be. What a batch costs is known only when it has run: a token takes a
// transformer a hundred times as long as a table of vectors. So batches begin small, and grow while those that were
// full took a small part of the time for which another request may have to wait.
//
// Invariants:
//   BZ1  Batches have at most `most` tokens and items. Those of a model of which nothing is known have at most
//        `FIRST`.
//   BZ2  A batch that took longer than `TOO_LONG_MS` makes the next one smaller, down to `FIRST`.

import type { BatchLimits, BatchRule } from './open-batch.ts'

/** A transformer of six layers takes 20 to 50 ms for it on one core. */
const FIRST: BatchLimits = { tokensMax: 512, itemsMax: 16 }
/** Twice as much still takes less than `TOO_LONG_MS`, if one batch is like the next. */
const SHORT_MS = 8
const TOO_LONG_MS = 25
const STEP = 2
/** A batch that was smaller than this part of its limit says little about a full one. */
const FULL_SHARE = 0.5

/** The sizes of one model's batches. */
export class BatchSizer {
  readonly #most: BatchLimits
  #times = 1

  /** `most` bounds all batches (BZ1). */
  constructor(most: BatchLimits) {
    this.#most = most
  }

  /** The rule for the next batch. */
  get rule(): BatchRule {
    return {
      tokensMax: Math.min(this.#most.tokensMax, FIRST.tokensMax * this.#times),
      itemsMax: Math.min(this.#most.itemsMax, FIRST.itemsMax * this.#times),
      isMixed: this.#times > 1,
    }
  }

  /** Notes what a batch took, from its sending to its answer. */
  observe(
    { tokens, items }: { readonly tokens: number; readonly items: number },
    ms: number,
  ): void {
    const { tokensMax, itemsMax } = this.rule
    const isFull = tokens >= tokensMax * FULL_SHARE || items >= itemsMax * FULL_SHARE
    if (ms > TOO_LONG_MS && this.#times > 1) this.#times /= STEP
    else if (ms < SHORT_MS && isFull && this.#mayGrow()) this.#times *= STEP
  }

  #mayGrow(): boolean {
    const { tokensMax, itemsMax } = this.rule
    return tokensMax < this.#most.tokensMax || itemsMax < this.#most.itemsMax
  }
}
