import type { Sliced } from '../../../../lib/sliced.ts'
import { NO_MORE, type PostingsCursor } from '../postings/postings-cursor.ts'
import { PositionsWalk } from '../postings/postings-source.ts'
import type { Bitset } from '../../encoding/bitset.ts'
import type { FieldNorms } from '../encoding/field-norms.ts'
import { K1 } from './bm25.ts'
import { isAccepted } from './bulk-search.ts'
import {
  exactFrequency,
  exactFrequencyAtOnce,
  sloppyFrequency,
  type ShiftedPositions,
} from './phrase-frequency.ts'
import type { Poll } from '../poll.ts'
import { PAUSED, type Scorer } from './scorer.ts'
import type { TermWeight } from './term-scorer.ts'

/** Entries of all positions in a document that are looked at without a pause. */
const SHORT_MAX = 2048

/** Walks the documents that have any term of one position of a phrase, and reads where they have it. */
export class PhraseCursor {
  doc = -1
  readonly cost: number
  /** The positions in the present document after `load`. Places with the same terms share them. */
  readonly found: PositionsWalk
  readonly #cursors: readonly PostingsCursor[]
  readonly #only: PostingsCursor | undefined
  readonly #documents: Bitset | undefined

  /** `documents`: all that the cursors walk, if they are kept as a set. */
  constructor(cursors: readonly PostingsCursor[], documents: Bitset | undefined) {
    this.#cursors = cursors
    this.#documents = documents
    this.#only = cursors.length === 1 ? cursors[0] : undefined
    this.found = this.#only?.positions ?? new PositionsWalk()
    this.cost = cursors.reduce((sum, { source }) => sum + source.docFreq, 0)
  }

  /** False only if the document surely has none of the terms. It moves nothing. */
  mayHave(doc: number): boolean {
    return isAccepted(this.#documents, doc)
  }

  /** Moves to the first document at or behind `target`, which is behind `doc`. */
  advance(target: number): number {
    if (this.#only !== undefined) {
      this.doc = this.#only.advance(target)
      return this.doc
    }
    let least = NO_MORE
    for (const cursor of this.#cursors) {
      least = Math.min(least, cursor.doc < target ? cursor.advance(target) : cursor.doc)
    }
    this.doc = least
    return least
  }

  /** The number of entries that `load` would fill in. */
  frequency(): number {
    if (this.#only !== undefined) return this.#only.freq()
    let sum = 0
    for (const cursor of this.#cursors) if (cursor.doc === this.doc) sum += cursor.freq()
    return sum
  }

  /** Fills `found` for the present document. */
  load(): void {
    if (this.#only !== undefined) this.#only.loadPositions()
    else this.#merge()
  }

  #merge(): void {
    const { found } = this
    found.reserve(this.frequency())
    found.length = 0
    for (const cursor of this.#cursors) {
      if (cursor.doc !== this.doc) continue
      cursor.loadPositions()
      append(found, cursor.positions)
    }
    found.values.subarray(0, found.length).sort()
  }
}

/**
 * Appends the values one by one: most lists are short, and a view of one costs more than a copy.
 */
function append(to: PositionsWalk, { values, length }: PositionsWalk): void {
  for (let i = 0; i < length; i += 1) to.values[to.length + i] = values[i] ?? 0
  to.length += length
}

/** One place of a phrase and the cursor of its terms. Places with the same terms share a cursor. */
export interface PhrasePlace {
  readonly offset: number
  readonly position: PhraseCursor
}

/**
 * How a phrase scores. A `slop` of 0 asks for the exact phrase.
 */
export interface PhraseOptions extends TermWeight {
  readonly norms: FieldNorms
  readonly slop: number
  readonly poll: Poll
  /** Set if only documents of this norm match, which all score alike. */
  readonly whole: { readonly length: number; readonly score: number } | undefined
}

/** BM25 of a phrase. Its frequency is the number of occurrences; its idf is the sum of its terms' idf. */
export class PhraseScorer implements Scorer {
  doc = -1
  readonly cost: number
  readonly #positions: readonly PhraseCursor[]
  readonly #lists: readonly ShiftedPositions[]
  readonly #options: PhraseOptions
  #frequency = 0
  /** Where a pause interrupted: no document before it matches. */
  #resumeAt = 0
  /** The count of occurrences in the document at `resumeAt`, under way. */
  #counting: Sliced<number> | undefined

  constructor(places: readonly PhrasePlace[], options: PhraseOptions) {
    const positions = new Set(places.map(({ position }) => position))
    this.#positions = [...positions].toSorted((a, b) => a.cost - b.cost)
    this.#lists = places.map(({ offset, position }) => ({ offset, found: position.found, at: 0 }))
    this.#options = options
    this.cost = this.#positions[0]?.cost ?? 0
  }

  next(): number {
    return this.advance(this.doc + 1)
  }

  advance(target: number): number {
    const { poll } = this.#options
    let from = Math.max(target, this.#resumeAt)
    if (from > this.#resumeAt) this.#counting = undefined
    for (;;) {
      const doc = this.#align(from)
      if (doc === PAUSED) return PAUSED
      this.#resumeAt = doc
      if (doc === NO_MORE) break
      const frequency = this.#hasLength(doc) ? this.#countOn() : 0
      if (frequency === PAUSED) return PAUSED
      this.#frequency = frequency
      if (frequency > 0) break
      from = doc + 1
      if (!poll.isDue) continue
      this.#resumeAt = from
      return PAUSED
    }
    this.doc = this.#resumeAt
    return this.doc
  }

  score(): number {
    const { weight, lengths, norms, whole } = this.#options
    if (whole !== undefined) return whole.score
    const length = lengths[norms.at(this.doc)] ?? K1
    return (weight * this.#frequency) / (this.#frequency + length)
  }

  #hasLength(doc: number): boolean {
    const { whole, norms } = this.#options
    return whole === undefined || norms.at(doc) === whole.length
  }

  /** The first document at or behind `target` that has every position, or PAUSED. */
  #align(target: number): number {
    let doc = target
    for (;;) {
      const ahead = this.#disagreement(doc)
      const isDue = this.#options.poll.spend(4)
      if (ahead === doc || ahead === NO_MORE) return ahead
      doc = ahead
      if (!isDue) continue
      this.#resumeAt = doc
      return PAUSED
    }
  }

  /** `doc` if all positions are at it, otherwise a later document: none before that has all positions. */
  #disagreement(doc: number): number {
    const positions = this.#positions
    for (let i = 0; i < positions.length; i += 1) {
      const position = positions[i]
      if (position === undefined) break
      const at = position.doc < doc ? position.advance(doc) : position.doc
      if (at !== doc) return at
      if (i === 0 && !this.#othersMayHave(doc)) return doc + 1
    }
    return doc
  }

  /** Most documents of the first position lack another, which a look at its set tells without reading postings. */
  #othersMayHave(doc: number): boolean {
    const positions = this.#positions
    for (let i = 1; i < positions.length; i += 1) {
      if (positions[i]?.mayHave(doc) === false) return false
    }
    return true
  }

  /** The occurrences in the present document of all positions, or PAUSED. */
  #countOn(): number {
    if (this.#counting === undefined && this.#isShort()) return this.#countAtOnce()
    this.#counting ??= this.#countOccurrences()
    const step = this.#counting.next()
    if (step.done !== true) return PAUSED
    this.#counting = undefined
    return step.value
  }

  #isShort(): boolean {
    if (this.#options.slop > 0) return false
    let entries = 0
    for (const position of this.#positions) {
      entries += position.frequency()
      if (entries > SHORT_MAX) return false
    }
    return true
  }

  #countAtOnce(): number {
    this.#options.poll.spend(64)
    for (const position of this.#positions) position.load()
    return exactFrequencyAtOnce(this.#lists)
  }

  *#countOccurrences(): Sliced<number> {
    const { poll, slop } = this.#options
    for (const position of this.#positions) {
      position.load()
      if (poll.spend(16 + position.found.length)) yield
    }
    return slop === 0 || this.#lists.length === 1
      ? yield* exactFrequency(this.#lists, poll)
      : yield* sloppyFrequency(this.#lists, slop, poll)
  }
}
