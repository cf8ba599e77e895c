import { NO_MORE } from '../postings/postings-cursor.ts'
import { hasBit, nextBit, type Bitset } from '../../encoding/bitset.ts'
import type { Poll } from '../poll.ts'

/** The result of a walk in the place of a document when a pause is due. */
export const PAUSED = -2

/**
 * A walk through the documents of a segment that match a query, in order. Contract:
 * - It begins at -1; `next` and `advance` return the new `doc`, NO_MORE behind the last.
 * - `advance(target)` goes to the first match at or behind `target`, which is behind `doc`.
 * - Either may return PAUSED, and then does not change `doc`. The same call after the poll is
 *   renewed continues where it stopped. Each call advances, however small the poll's steps are.
 * - `score` returns the score of the present document, and changes nothing.
 * - `cost` estimates the most documents that match: the cheapest scorer leads a conjunction.
 */
export interface Scorer {
  readonly doc: number
  readonly cost: number
  next(): number
  advance(target: number): number
  score(): number
}

/** The scorer of a query that matches no document of the segment. */
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

/**
 * The same for a short ascending list, because a query of a thousand clauses keeps a thousand sets.
 */
export class ListScorer implements Scorer {
  doc = -1
  readonly cost: number
  readonly #docs: Uint32Array
  readonly #score: number
  #at = 0

  constructor(docs: Uint32Array, score: number) {
    this.#docs = docs
    this.#score = score
    this.cost = docs.length
  }

  next(): number {
    return this.advance(this.doc + 1)
  }

  advance(target: number): number {
    const docs = this.#docs
    let at = this.#at
    let step = 1
    while (at + step < docs.length && (docs[at + step] ?? 0) < target) {
      at += step
      step *= 2
    }
    let end = Math.min(at + step, docs.length)
    while (at < end) {
      const middle = (at + end) >>> 1
      if ((docs[middle] ?? 0) < target) at = middle + 1
      else end = middle
    }
    this.#at = at
    this.doc = docs[at] ?? NO_MORE
    return this.doc
  }

  score(): number {
    return this.#score
  }
}

/** Documents that match all parts; only `scoring` ones add to the score. */
export class AllOfScorer implements Scorer {
  doc = -1
  /** Whether the lead has moved and the others have not followed yet. */
  #isBehindLead = false
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
    return this.#settle(this.#isBehindLead ? this.#lead.doc : this.#lead.next())
  }

  advance(target: number): number {
    const isThere = this.#isBehindLead && this.#lead.doc >= target
    return this.#settle(isThere ? this.#lead.doc : this.#lead.advance(target))
  }

  score(): number {
    let sum = 0
    for (const part of this.#scoring) sum += part.score()
    return sum
  }

  #settle(from: number): number {
    if (from === PAUSED) return PAUSED
    let doc = from
    this.#isBehindLead = true
    while (doc !== NO_MORE) {
      const ahead = this.#disagreement(doc)
      if (ahead === doc) break
      if (ahead === PAUSED) return PAUSED
      doc = ahead === NO_MORE ? NO_MORE : this.#lead.advance(ahead)
      if (doc === PAUSED || (this.#poll.spend(4) && doc !== NO_MORE)) return PAUSED
    }
    this.#isBehindLead = false
    this.doc = doc
    return doc
  }

  /** `doc` if all parts are at it, otherwise the document of the first part that is not. */
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
  readonly #poll: Poll
  /** Where a pause interrupted: no document before it matches. */
  #resumeAt = 0

  constructor(
    parts: readonly Scorer[],
    options: { readonly minMatch: number; readonly combine: 'sum' | 'best'; readonly poll: Poll },
  ) {
    this.#parts = parts
    this.#minMatch = options.minMatch
    this.#takesBest = options.combine === 'best'
    this.#poll = options.poll
    this.cost = parts.reduce((sum, part) => sum + part.cost, 0)
  }

  next(): number {
    return this.advance(this.doc + 1)
  }

  advance(target: number): number {
    let from = Math.max(target, this.#resumeAt)
    for (;;) {
      let least = NO_MORE
      let matching = 0
      for (const part of this.#parts) {
        const at = part.doc < from ? part.advance(from) : part.doc
        if (at === PAUSED) return PAUSED
        if (at === least) matching += 1
        else if (at < least) {
          least = at
          matching = 1
        }
      }
      const isDue = this.#poll.spend(this.#parts.length)
      if (least === NO_MORE || matching >= this.#minMatch) {
        this.doc = least
        return least
      }
      from = least + 1
      if (!isDue) continue
      this.#resumeAt = from
      return PAUSED
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
  doc = -1
  readonly cost: number
  readonly #required: Scorer
  readonly #optional: Scorer

  constructor(required: Scorer, optional: Scorer) {
    this.#required = required
    this.#optional = optional
    this.cost = required.cost
  }

  next(): number {
    return this.advance(this.doc + 1)
  }

  /** Moves the optional part, too, because its way may be too long for `score`. */
  advance(target: number): number {
    const doc = this.#required.doc < target ? this.#required.advance(target) : this.#required.doc
    if (doc === PAUSED) return PAUSED
    const isBehind = doc !== NO_MORE && this.#optional.doc < doc
    if (isBehind && this.#optional.advance(doc) === PAUSED) return PAUSED
    this.doc = doc
    return doc
  }

  score(): number {
    const isThere = this.#optional.doc === this.doc
    return this.#required.score() + (isThere ? this.#optional.score() : 0)
  }
}

/** The documents of `part` in `allowed`. */
export class AllowedScorer implements Scorer {
  doc = -1
  readonly cost: number
  readonly #part: Scorer
  readonly #allowed: Bitset
  readonly #poll: Poll

  constructor(part: Scorer, allowed: Bitset, poll: Poll) {
    this.#part = part
    this.#allowed = allowed
    this.#poll = poll
    this.cost = part.cost
  }

  next(): number {
    return this.#settle(this.#part.next())
  }

  /** After a pause the part may be behind the target already, at a document that is not allowed. */
  advance(target: number): number {
    const isBehind = this.#part.doc < target
    return this.#settle(isBehind ? this.#part.advance(target) : this.#part.next())
  }

  score(): number {
    return this.#part.score()
  }

  #settle(from: number): number {
    let doc = from
    while (doc >= 0 && doc !== NO_MORE && !hasBit(this.#allowed, doc)) {
      if (this.#poll.spend(1)) return PAUSED
      doc = this.#part.next()
    }
    if (doc !== PAUSED) this.doc = doc
    return doc
  }
}
