// A batch while it is filled (B1 of batch-queue.ts).

/** The longest item of a batch has at most this many times the tokens of the shortest. */
const LENGTH_RATIO_MAX = 1.25
/** Padding a short item by this many tokens costs less than another run. */
const LENGTH_SLACK_TOKENS = 8

/** The limits of one batch (B1): tokens of all rows together, and the number of items. */
export interface BatchLimits {
  readonly tokensMax: number
  readonly itemsMax: number
}

/** A batch of mixed lengths delays its short items for its long ones. Absent: nearly one length. */
export interface BatchRule extends BatchLimits {
  readonly isMixed?: boolean
}

/** One item to run. `cost` is its number of tokens. Items with equal `group` may share a batch. */
export interface QueuedWork {
  readonly cost: number
  readonly group: string
}

/** A batch that takes more items. */
export class OpenBatch<Work extends QueuedWork> {
  readonly works: Work[]
  readonly #first: Work
  readonly #rule: BatchRule
  #tokensLeft: number

  constructor(first: Work, rule: BatchRule) {
    this.works = [first]
    this.#first = first
    this.#rule = rule
    this.#tokensLeft = rule.tokensMax - first.cost
  }

  get isFull(): boolean {
    const { itemsMax, isMixed } = this.#rule
    return this.works.length >= itemsMax || this.#tokensLeft < (isMixed ? 1 : this.#first.cost)
  }

  /** No longer item can be added. */
  get costMax(): number {
    return this.#rule.isMixed ? this.#tokensLeft : this.#first.cost
  }

  /** Whether an item that is no longer than `costMax` is not too short. */
  isLongEnough({ cost }: Work): boolean {
    return this.#rule.isMixed || isNearlyAsLong(cost, this.#first.cost)
  }

  /** False: it does not fit. */
  add(work: Work): boolean {
    const tokens = this.#rule.isMixed ? work.cost : this.#first.cost
    if (work.group !== this.#first.group || tokens > this.#tokensLeft) return false
    this.#tokensLeft -= tokens
    this.works.push(work)
    return true
  }
}

/** Whether padding an item to the longest costs less than a run of its own. Both are in tokens. */
export function isNearlyAsLong(length: number, longest: number): boolean {
  return (length + LENGTH_SLACK_TOKENS) * LENGTH_RATIO_MAX >= longest
}
