import { NO_MORE, type PostingsCursor } from '../postings/postings-cursor.ts'
import { K1 } from './bm25.ts'
import { exactFrequency, sloppyFrequency, type ShiftedPositions } from './phrase-frequency.ts'
import type { Poll } from '../engine/poll.ts'
import type { Scorer } from './scorer.ts'
import type { TermWeight } from './term-scorer.ts'

/** The documents that have any of a position's terms, and where. */
export class PhrasePosition {
  doc = -1
  readonly cost: number
  readonly shifted: ShiftedPositions
  readonly #cursors: readonly PostingsCursor[]
  readonly #only: PostingsCursor | undefined

  constructor(offset: number, cursors: readonly PostingsCursor[]) {
    this.#cursors = cursors
    this.#only = cursors.length === 1 ? cursors[0] : undefined
    this.shifted = { offset, values: new Int32Array(16), length: 0, at: 0 }
    this.cost = cursors.reduce((sum, { source }) => sum + source.docFreq, 0)
  }

  /** `target` is behind `doc`. */
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

  /** Fills `shifted` for the present document. */
  load(): void {
    const { shifted } = this
    shifted.length = 0
    for (const cursor of this.#cursors) if (cursor.doc === this.doc) this.#append(cursor)
    if (this.#cursors.length > 1) shifted.values.subarray(0, shifted.length).sort()
  }

  #append(cursor: PostingsCursor): void {
    const { values, length } = cursor.positions()
    const { shifted } = this
    const { offset } = shifted
    if (shifted.length + length > shifted.values.length) {
      const larger = new Int32Array((shifted.length + length) * 2)
      larger.set(shifted.values)
      shifted.values = larger
    }
    const out = shifted.values
    const from = shifted.length
    for (let i = 0; i < length; i += 1) out[from + i] = (values[i] ?? 0) - offset
    shifted.length = from + length
  }
}

export interface PhraseOptions extends TermWeight {
  readonly norms: Uint8Array
  readonly slop: number
  readonly poll: Poll
}

/** BM25 of a phrase: its occurrences are the frequency, its parts' idf summed the idf. */
export class PhraseScorer implements Scorer {
  doc = -1
  readonly cost: number
  readonly #positions: readonly PhrasePosition[]
  readonly #lists: readonly ShiftedPositions[]
  readonly #options: PhraseOptions
  #frequency = 0

  constructor(positions: readonly PhrasePosition[], options: PhraseOptions) {
    this.#positions = positions.toSorted((a, b) => a.cost - b.cost)
    this.#lists = positions.map(({ shifted }) => shifted)
    this.#options = options
    this.cost = this.#positions[0]?.cost ?? 0
  }

  next(): number {
    return this.advance(this.doc + 1)
  }

  advance(target: number): number {
    let doc = this.#align(target)
    while (doc !== NO_MORE && !this.#occurs()) doc = this.#align(doc + 1)
    this.doc = doc
    return doc
  }

  score(): number {
    const { weight, lengths, norms } = this.#options
    const length = lengths[norms[this.doc] ?? 0] ?? K1
    return (weight * this.#frequency) / (this.#frequency + length)
  }

  /** The first document at or behind `target` that has every position. */
  #align(target: number): number {
    let doc = target
    for (let agreed = 0; agreed < this.#positions.length;) {
      this.#options.poll.spend(4)
      agreed = 0
      for (const position of this.#positions) {
        const at = position.doc < doc ? position.advance(doc) : position.doc
        if (at === NO_MORE) return NO_MORE
        if (at !== doc) {
          doc = at
          break
        }
        agreed += 1
      }
    }
    return doc
  }

  #occurs(): boolean {
    this.#options.poll.spend(64)
    for (const position of this.#positions) position.load()
    const { slop } = this.#options
    this.#frequency =
      slop === 0 || this.#lists.length === 1
        ? exactFrequency(this.#lists)
        : sloppyFrequency(this.#lists, slop)
    return this.#frequency > 0
  }
}
