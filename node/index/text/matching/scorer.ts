import { NO_MORE } from '../postings/postings-cursor.ts'
import { nextBit, type Bitset } from '../engine/bitset.ts'
import type { Poll } from '../engine/poll.ts'

/**
 * A walk through the documents of a segment that match a query, in order. Contract:
 * - Begins at -1; `next` and `advance` answer the new `doc`, NO_MORE behind the last.
 * - `advance(target)` goes to the first match at or behind `target`, which is behind `doc`.
 * - `score` is that of the present document, and changes nothing.
 * - `cost` is about how many documents match at most: the cheapest leads a conjunction.
 */
export interface Scorer {
  readonly doc: number
  readonly cost: number
  next(): number
  advance(target: number): number
  score(): number
}

export class EmptyScorer implements Scorer {
  readonly doc = NO_MORE
  readonly cost = 0

  next(): number {
    return NO_MORE
  }

  advance(): number {
    return NO_MORE
  }

  score(): number {
    return 0
  }
}

/** The same score for every document of a set. */
export class BitsetScorer implements Scorer {
  doc = -1
  readonly cost: number
  readonly #bits: Bitset
  readonly #docCount: number
  readonly #score: number

  constructor(bits: Bitset, docCount: number, score: number) {
    this.#bits = bits
    this.#docCount = docCount
    this.#score = score
    this.cost = docCount
  }

  next(): number {
    return this.advance(this.doc + 1)
  }

  advance(target: number): number {
    const doc = target >= this.#docCount ? NO_MORE : nextBit(this.#bits, target, this.#docCount)
    this.doc = doc >= this.#docCount ? NO_MORE : doc
    return this.doc
  }

  score(): number {
    return this.#score
  }
}

/** Documents that match all parts; only `scoring` ones add to the score. */
export class AllOfScorer implements Scorer {
  doc = -1
  readonly cost: number
  readonly #lead: Scorer
  readonly #others: readonly Scorer[]
  readonly #scoring: readonly Scorer[]
  readonly #poll: Poll

  constructor(parts: readonly [Scorer, ...Scorer[]], scoring: readonly Scorer[], poll: Poll) {
    const [lead = parts[0], ...others] = parts.toSorted((a, b) => a.cost - b.cost)
    this.#lead = lead
    this.#others = others
    this.#scoring = scoring
    this.#poll = poll
    this.cost = lead.cost
  }

  next(): number {
    return this.#settle(this.#lead.next())
  }

  advance(target: number): number {
    return this.#settle(this.#lead.advance(target))
  }

  score(): number {
    let sum = 0
    for (const part of this.#scoring) sum += part.score()
    return sum
  }

  #settle(from: number): number {
    let doc = from
    while (doc !== NO_MORE) {
      const ahead = this.#disagreement(doc)
      if (ahead === doc) break
      this.#poll.spend(4)
      doc = ahead === NO_MORE ? NO_MORE : this.#lead.advance(ahead)
    }
    this.doc = doc
    return doc
  }

  /** `doc` if all are there, else where the first that is not stands. */
  #disagreement(doc: number): number {
    for (const other of this.#others) {
      const at = other.doc < doc ? other.advance(doc) : other.doc
      if (at !== doc) return at
    }
    return doc
  }
}

/** Documents that match at least `minMatch` parts, whose scores are summed or the best taken. */
export class AnyOfScorer implements Scorer {
  doc = -1
  readonly cost: number
  readonly #parts: readonly Scorer[]
  readonly #minMatch: number
  readonly #takesBest: boolean

  constructor(parts: readonly Scorer[], minMatch: number, combine: 'sum' | 'best') {
    this.#parts = parts
    this.#minMatch = minMatch
    this.#takesBest = combine === 'best'
    this.cost = parts.reduce((sum, part) => sum + part.cost, 0)
  }

  next(): number {
    return this.advance(this.doc + 1)
  }

  advance(target: number): number {
    let from = target
    for (;;) {
      let least = NO_MORE
      let matching = 0
      for (const part of this.#parts) {
        const at = part.doc < from ? part.advance(from) : part.doc
        if (at === least) matching += 1
        else if (at < least) {
          least = at
          matching = 1
        }
      }
      this.doc = least
      if (least === NO_MORE || matching >= this.#minMatch) return least
      from = least + 1
    }
  }

  score(): number {
    let result = 0
    for (const part of this.#parts) {
      if (part.doc !== this.doc) continue
      const score = part.score()
      result = this.#takesBest ? Math.max(result, score) : result + score
    }
    return result
  }
}

/** The documents of `required`; those that match `optional` too score its part as well. */
export class OptionalScorer implements Scorer {
  readonly cost: number
  readonly #required: Scorer
  readonly #optional: Scorer

  constructor(required: Scorer, optional: Scorer) {
    this.#required = required
    this.#optional = optional
    this.cost = required.cost
  }

  get doc(): number {
    return this.#required.doc
  }

  next(): number {
    return this.#required.next()
  }

  advance(target: number): number {
    return this.#required.advance(target)
  }

  score(): number {
    const { doc } = this.#required
    const at = this.#optional.doc < doc ? this.#optional.advance(doc) : this.#optional.doc
    return this.#required.score() + (at === doc ? this.#optional.score() : 0)
  }
}

/** The documents of `part` in `allowed`. */
export class AllowedScorer implements Scorer {
  doc = -1
  readonly cost: number
  readonly #part: Scorer
  readonly #allowed: Bitset

  constructor(part: Scorer, allowed: Bitset) {
    this.#part = part
    this.#allowed = allowed
    this.cost = part.cost
  }

  next(): number {
    return this.#settle(this.#part.next())
  }

  advance(target: number): number {
    return this.#settle(this.#part.advance(target))
  }

  score(): number {
    return this.#part.score()
  }

  #settle(from: number): number {
    let doc = from
    while (doc !== NO_MORE && ((this.#allowed[doc >>> 5] ?? 0) & (1 << (doc & 31))) === 0) {
      doc = this.#part.next()
    }
    this.doc = doc
    return doc
  }
}
