import type { Segment } from '../segment/segment.ts'
import { compareTexts } from '../encoding/compare-texts.ts'

/** A place in the order of `search` without `sort`. */
export interface ScoreBoundary {
  readonly score: number
  /** The key as segments hold it: one code unit a byte. */
  readonly key: string
}

/**
 * The best documents of one segment: higher scores first, then lower keys. A heap with the worst at
 * the root. Scores have single precision, so that the order of additions does not change ranks.
 */
export class TopHits {
  /** No document with a score at or below this can become a hit. */
  bar: number
  readonly limit: number
  readonly #segment: Segment
  readonly #after: ScoreBoundary | undefined
  readonly #bound: ScoreBoundary | undefined
  readonly scores: number[] = []
  readonly docs: number[] = []
  length = 0

  /**
   * `floor`: scores below it are too low to become hits; scores equal to it are not. Hits are behind `after`, and in
   * front of `bound`.
   */
  constructor(
    segment: Segment,
    options: {
      readonly limit: number
      readonly floor: number
      readonly after: ScoreBoundary | undefined
      readonly bound?: ScoreBoundary | undefined
    },
  ) {
    this.#segment = segment
    this.limit = options.limit
    this.#after = options.after
    this.#bound = options.bound
    this.bar = options.limit === 0 ? Infinity : this.#firstBar(options.floor)
  }

  /** For the best documents by a part of their scores; undefined behind a boundary, where a part does not tell the place. */
  emptyForParts(): TopHits | undefined {
    if (this.#after !== undefined) return undefined
    return new TopHits(this.#segment, { limit: this.limit, floor: 0, after: undefined })
  }

  /** Documents may come in any order. */
  offer(doc: number, exactScore: number): void {
    const score = Math.fround(exactScore)
    if (score <= this.bar || !this.#isPastBoundary(doc, score)) return
    if (this.#isBehindBound(doc, score)) return
    if (this.length < this.limit) {
      this.length += 1
      this.#siftUp(this.length - 1, doc, score)
    } else {
      if (!this.#isWorse(this.docs[0] ?? 0, this.scores[0] ?? 0, { doc, score })) return
      this.#siftDown(doc, score)
    }
    if (this.length === this.limit) this.#raiseBar(this.scores[0] ?? 0)
  }

  /** `limit` documents are known to have this score or a better one. */
  expect(score: number): void {
    this.bar = Math.max(this.bar, justBelow(score))
  }

  /** Raises the bar to the worst hit: with documents in key order, a later one loses every tie. */
  #raiseBar(worst: number): void {
    this.bar = Math.max(this.bar, this.#segment.isKeyOrdered ? worst : justBelow(worst))
  }

  /** Where all keys come behind that of the bound, as in the next shard, every tie with it is lost. */
  #firstBar(floor: number): number {
    const bound = this.#bound
    if (bound === undefined || bound.score < floor) return justBelow(floor)
    const { isKeyOrdered, docCount } = this.#segment
    const losesTies = isKeyOrdered && docCount > 0 && this.#segment.key(0) > bound.key
    return losesTies ? bound.score : justBelow(bound.score)
  }

  #isPastBoundary(doc: number, score: number): boolean {
    if (this.#after === undefined || score < this.#after.score) return true
    return score === this.#after.score && this.#segment.key(doc) > this.#after.key
  }

  #isBehindBound(doc: number, score: number): boolean {
    if (this.#bound === undefined || score > this.#bound.score) return false
    return score < this.#bound.score || this.#segment.key(doc) > this.#bound.key
  }

  #isWorse(doc: number, score: number, than: { doc: number; score: number }): boolean {
    if (score !== than.score) return score < than.score
    if (this.#segment.isKeyOrdered) return doc > than.doc
    return compareTexts(this.#segment.key(doc), this.#segment.key(than.doc)) > 0
  }

  #siftUp(from: number, doc: number, score: number): void {
    let at = from
    while (at > 0) {
      const parent = (at - 1) >>> 1
      const parentDoc = this.docs[parent] ?? 0
      const parentScore = this.scores[parent] ?? 0
      if (this.#isWorse(parentDoc, parentScore, { doc, score })) break
      this.docs[at] = parentDoc
      this.scores[at] = parentScore
      at = parent
    }
    this.docs[at] = doc
    this.scores[at] = score
  }

  #siftDown(doc: number, score: number): void {
    let at = 0
    for (;;) {
      let child = at * 2 + 1
      if (child >= this.length) break
      const right = child + 1
      const left = { doc: this.docs[child] ?? 0, score: this.scores[child] ?? 0 }
      const rightIsWorse =
        right < this.length && this.#isWorse(this.docs[right] ?? 0, this.scores[right] ?? 0, left)
      if (rightIsWorse) child = right
      const childDoc = this.docs[child] ?? 0
      const childScore = this.scores[child] ?? 0
      if (!this.#isWorse(childDoc, childScore, { doc, score })) break
      this.docs[at] = childDoc
      this.scores[at] = childScore
      at = child
    }
    this.docs[at] = doc
    this.scores[at] = score
  }
}

/** A number below every exact score that rounds to this one in single precision. */
function justBelow(score: number): number {
  return score <= 0 ? -1 : score * (1 - 2 ** -23)
}
