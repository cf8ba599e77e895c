import type { SegmentTerm } from '../live/live-segment.ts'
import { NO_MORE, PostingsCursor } from '../postings/postings-cursor.ts'
import type { Bitset } from '../../encoding/bitset.ts'
import type { FieldNorms } from '../encoding/field-norms.ts'
import { K1 } from './bm25.ts'
import { isAccepted } from './bulk-search.ts'
import type { Scorer } from './scorer.ts'

/** The most blocks that a bound looks at. A longer range gets the term's best score instead. */
const BLOCKS_PER_BOUND = 16
/** A factor for bounds, which are sums in another order than scores. It covers the rounding. */
const SLACK = 1 + 1e-9

/** How a term scores: `weight * f / (f + lengths[norm])`, `weight` being boost * idf * (k1 + 1). */
export interface TermWeight {
  readonly weight: number
  readonly lengths: Float64Array
}

/** BM25 of one term. The bulk loops of disjunction.ts and conjunction.ts read its parts. */
export class TermScorer implements Scorer {
  readonly term: SegmentTerm
  readonly cursor: PostingsCursor
  readonly weight: number
  readonly lengths: Float64Array
  readonly norms: FieldNorms
  /** The array of the norms of a field that many documents have, for the loops over its documents. */
  readonly #dense: Uint8Array
  readonly cost: number
  readonly #documents: Bitset | undefined
  /** The best score of each block; below 0 before its first use. */
  readonly #bounds: Float64Array
  #bestBound = -1

  constructor(term: SegmentTerm, norms: FieldNorms, { weight, lengths }: TermWeight) {
    const { source } = term
    this.term = term
    this.#documents = term.keeper?.documents
    this.cursor = new PostingsCursor(source)
    this.weight = weight
    this.lengths = lengths
    this.norms = norms
    this.#dense = norms.dense
    this.cost = source.docFreq
    this.#bounds = new Float64Array(source.blockCount).fill(-1)
  }

  /** The same term from its first document on. */
  again(): TermScorer {
    const { weight, lengths } = this
    return new TermScorer(this.term, this.norms, { weight, lengths })
  }

  get doc(): number {
    return this.cursor.doc
  }

  next(): number {
    return this.cursor.next()
  }

  advance(target: number): number {
    return this.cursor.advance(target)
  }

  score(): number {
    return this.scoreOf(this.cursor.doc, this.cursor.freq())
  }

  scoreOf(doc: number, freq: number): number {
    return (
      (this.weight * freq) / (freq + (this.lengths[this.#dense[doc] ?? this.norms.at(doc)] ?? K1))
    )
  }

  /** False only if the document surely has not the term: if the set of its documents is kept. */
  mayHave(doc: number): boolean {
    return isAccepted(this.#documents, doc)
  }

  /** The best score of the term: no document scores more. */
  bestBound(): number {
    if (this.#bestBound >= 0) return this.#bestBound
    let best = 0
    for (let block = 0; block < this.#bounds.length; block += 1) {
      best = Math.max(best, this.boundOf(block))
    }
    this.#bestBound = best
    return best
  }

  /**
   * A bound for the documents from the first to the last, both included. `from` never decreases.
   */
  boundBetween(from: number, to: number): number {
    const { source } = this.cursor
    const first = this.cursor.blockOf(from)
    let best = 0
    for (let block = first; block < source.blockCount; block += 1) {
      if (block - first >= BLOCKS_PER_BOUND) return this.bestBound()
      best = Math.max(best, this.boundOf(block))
      if ((source.lastDocs[block] ?? NO_MORE) >= to) break
    }
    return best
  }

  /** The last document of the block that may hold `from`; NO_MORE behind the last block. */
  blockEnd(from: number): number {
    return this.cursor.source.lastDocs[this.cursor.blockOf(from)] ?? NO_MORE
  }

  /** A bound for the block: no document in it scores more. */
  boundOf(block: number): number {
    const known = this.#bounds[block] ?? -1
    if (known >= 0) return known
    const bound = this.#computeBound(block) * SLACK
    this.#bounds[block] = bound
    return bound
  }

  #computeBound(block: number): number {
    const { impacts } = this.cursor.source
    if (impacts === undefined) return this.weight
    let best = 0
    const end = impacts.starts[block + 1] ?? 0
    for (let i = impacts.starts[block] ?? 0; i < end; i += 1) {
      const freq = impacts.freqs[i] ?? 0
      const length = this.lengths[impacts.norms[i] ?? 0] ?? K1
      best = Math.max(best, (this.weight * freq) / (freq + length))
    }
    return best
  }
}
