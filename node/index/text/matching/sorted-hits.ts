// The first documents of one segment in the order of columns. Inside a segment keyword values are
// compared by ordinal. The hits carry values, which can be compared across segments and shards.

import type { Sliced } from '../../../../lib/sliced.ts'
import type { SortValue } from '../../../query/request/query-cursor.ts'
import type { ColumnReader } from '../segment/column.ts'
import type { Segment } from '../segment/segment.ts'
import { ColumnCursor } from './column-cursor.ts'
import { compareTexts } from '../encoding/compare-texts.ts'
import { compareSortValues } from './compare-sort-values.ts'
import { ExactTies } from './exact-ties.ts'

/** Keys and values are read from dictionaries in some microseconds. */
const HITS_PER_STEP = 256

/** Documents without a value come last in either direction. Ties: ascending keys. */
export type SortField =
  | { readonly by: 'score'; readonly descending: boolean }
  | { readonly by: 'key'; readonly descending: boolean }
  /** The least value of a document counts ascending, the greatest descending. */
  | { readonly by: 'column'; readonly field: string; readonly descending: boolean }

/**
 * The place of a hit in a sorted order: a value for each sort field, undefined for a document
 * without the field. The key decides among equal values.
 */
export interface SortBoundary {
  readonly sortValues: readonly SortValue[]
  readonly key: string
}

/** A hit of one segment. It has the score of its scorer, also when the order ignores scores. */
export interface SortedHit extends SortBoundary {
  readonly score: number
}

/** Compares two hits of one index, whose keys are texts of one code unit a byte. */
export function compareSorted(
  sort: readonly SortField[],
  a: SortBoundary,
  b: SortBoundary,
): number {
  for (const [i, { descending }] of sort.entries()) {
    const order = compareSortValues(a.sortValues[i], b.sortValues[i], descending)
    if (order !== 0) return order
  }
  return compareTexts(a.key, b.key)
}

interface Candidate {
  readonly doc: number
  readonly score: number
  /** The place of the hit in each field's order. Smaller comes first; Infinity for no value. */
  readonly ranks: readonly number[]
}

/** The place of a hit of another segment, as this one ranks it. */
interface RankedBoundary {
  readonly ranks: readonly number[]
  readonly key: string
}

/**
 * The first hits of one segment in a sorted order. The caller offers each matching document once,
 * in ascending order, and takes at most `limit` hits at the end.
 */
export class SortedHits {
  readonly #segment: Segment
  readonly #sort: readonly SortField[]
  readonly #columns: readonly (ColumnReader | undefined)[]
  readonly #cursors: readonly (ColumnCursor | undefined)[]
  /** By field: decides between equal doubles. Undefined for all fields but few. */
  readonly #ties: readonly (ExactTies | undefined)[]
  readonly #limit: number
  readonly #after: RankedBoundary | undefined
  readonly #bound: RankedBoundary | undefined
  /** 1, or -1 from the last hit towards the first. */
  readonly #direction: 1 | -1
  readonly #sortsByScore: boolean
  #kept: Candidate[] = []
  #worst: Candidate | undefined

  constructor(
    segment: Segment,
    options: {
      readonly limit: number
      readonly sort: readonly SortField[]
      readonly after: SortBoundary | undefined
      /** A hit that the caller has: one behind it is of no use. */
      readonly bound?: SortBoundary | undefined
      readonly isBackwards: boolean
    },
  ) {
    this.#segment = segment
    this.#sort = options.sort
    this.#limit = options.limit
    this.#direction = options.isBackwards ? -1 : 1
    this.#sortsByScore = options.sort.some(({ by }) => by === 'score')
    this.#columns = options.sort.map((field) =>
      field.by === 'column' ? segment.field(field.field)?.column : undefined,
    )
    this.#cursors = options.sort.map(({ descending }, i) => {
      const column = this.#columns[i]
      return column && new ColumnCursor(column, segment.docCount, descending)
    })
    this.#ties = options.sort.map((one, i) => {
      if (one.by !== 'column') return undefined
      const boundary = options.after?.sortValues[i]
      return ExactTies.of(segment, one.field, { isDescending: one.descending, boundary })
    })
    this.#after = options.after && this.#ranked(options.after)
    this.#bound = options.bound && this.#ranked(options.bound)
  }

  #ranked({ sortValues, key }: SortBoundary): RankedBoundary {
    const ranks = this.#sort.map((field, i) =>
      this.#rankOfValue(field, this.#columns[i], sortValues[i]),
    )
    return { ranks, key }
  }

  /** Offers a match. Its score is computed only if the order or a kept hit needs it. */
  offer(doc: number, scorer: { score(): number }): void {
    if (this.#limit === 0) return
    const last = this.#worst ?? this.#bound
    if (!this.#sortsByScore && this.#isBehind(last, doc, 0)) return
    const score = Math.fround(scorer.score())
    if (this.#isBehind(last, doc, score)) return
    const ranks = this.#sort.map((_, i) => this.#rankOf(i, doc, score))
    const candidate = { doc, score, ranks }
    if (this.#worst !== undefined && this.#compare(candidate, this.#worst) >= 0) return
    if (!this.#isPastBoundary(candidate) || this.#isBehindBound(candidate)) return
    this.#kept.push(candidate)
    if (this.#kept.length >= this.#limit * 2 + 64) this.#trim()
  }

  /**
   * Whether a document comes behind the worst hit. The first field decides this for nearly all
   * documents.
   */
  #isBehind(worst: RankedBoundary | Candidate | undefined, doc: number, score: number): boolean {
    const [field] = this.#sort
    if (worst === undefined || field === undefined || field.by === 'key') return false
    const rank = this.#rankOf(0, doc, score)
    return compareRanks(rank, worst.ranks[0] ?? 0) * this.#direction > 0
  }

  *finish(): Sliced<SortedHit[]> {
    this.#trim()
    const hits: SortedHit[] = []
    for (const { doc, score } of this.#kept) {
      if (hits.length % HITS_PER_STEP === HITS_PER_STEP - 1) yield
      const sortValues = this.#sort.map((field, i) =>
        this.#ties[i] === undefined
          ? this.#valueOf(field, this.#columns[i], { doc, score })
          : this.#ties[i].valueOf(doc),
      )
      hits.push({ key: this.#segment.key(doc), score, sortValues })
    }
    return hits
  }

  #trim(): void {
    this.#kept = this.#kept.toSorted((a, b) => this.#compare(a, b)).slice(0, this.#limit)
    if (this.#kept.length === this.#limit) this.#worst = this.#kept.at(-1)
  }

  #compare(a: Candidate, b: Candidate): number {
    for (const [i, field] of this.#sort.entries()) {
      const order =
        field.by === 'key'
          ? this.#compareKeys(a.doc, b.doc) * (field.descending ? -1 : 1)
          : compareRanks(a.ranks[i] ?? 0, b.ranks[i] ?? 0) ||
            (this.#ties[i]?.compare(a.doc, b.doc) ?? 0)
      if (order !== 0) return order * this.#direction
    }
    return this.#compareKeys(a.doc, b.doc) * this.#direction
  }

  #compareKeys(a: number, b: number): number {
    if (this.#segment.isKeyOrdered) return a - b
    return compareTexts(this.#segment.key(a), this.#segment.key(b))
  }

  #isPastBoundary({ doc, ranks }: Candidate): boolean {
    if (this.#after === undefined) return true
    for (const [i, field] of this.#sort.entries()) {
      const order =
        field.by === 'key'
          ? compareTexts(this.#segment.key(doc), this.#after.key) * (field.descending ? -1 : 1)
          : compareRanks(ranks[i] ?? 0, this.#after.ranks[i] ?? 0) ||
            (this.#ties[i]?.compareWithBoundary(doc) ?? 0)
      if (order !== 0) return order * this.#direction > 0
    }
    return compareTexts(this.#segment.key(doc), this.#after.key) * this.#direction > 0
  }

  /** False where exact digits would have to decide. */
  #isBehindBound({ doc, ranks }: Candidate): boolean {
    if (this.#bound === undefined) return false
    for (const [i, field] of this.#sort.entries()) {
      const order =
        field.by === 'key'
          ? compareTexts(this.#segment.key(doc), this.#bound.key) * (field.descending ? -1 : 1)
          : compareRanks(ranks[i] ?? 0, this.#bound.ranks[i] ?? 0)
      if (order !== 0) return order * this.#direction > 0
      if (this.#ties[i] !== undefined) return false
    }
    return compareTexts(this.#segment.key(doc), this.#bound.key) * this.#direction > 0
  }

  /**
   * The rank by the i-th field. It is called for every match, so plain arguments avoid an object.
   */
  #rankOf(i: number, doc: number, score: number): number {
    const field = this.#sort[i]
    if (field === undefined || field.by === 'key') return 0
    const sign = field.descending ? -1 : 1
    if (field.by === 'score') return score * sign
    const value = this.#cursors[i]?.valueOf(doc) ?? NaN
    return Number.isNaN(value) ? Infinity : value * sign
  }

  #valueOf(
    field: SortField,
    column: ColumnReader | undefined,
    hit: { readonly doc: number; readonly score: number },
  ): SortValue {
    if (field.by === 'score') return hit.score
    if (field.by === 'key') return this.#segment.key(hit.doc)
    const count = column?.count(hit.doc) ?? 0
    if (column === undefined || count === 0) return undefined
    const value = column.value(hit.doc, field.descending ? count - 1 : 0)
    return column.kind === 'keyword' ? column.termOf(value) : value
  }

  /** A text that the segment lacks ranks between its neighbours. */
  #rankOfValue(field: SortField, column: ColumnReader | undefined, value: SortValue): number {
    if (value === undefined) return Infinity
    const sign = field.descending ? -1 : 1
    if (typeof value === 'number') return value * sign
    if (typeof value === 'object') return Number(value.decimal) * sign
    if (column === undefined) return 0
    const ordinal = column.ordinalOf(value)
    const isThere = ordinal < column.ordinalCount && column.termOf(ordinal) === value
    return (isThere ? ordinal : ordinal - 0.5) * sign
  }
}

function compareRanks(a: number, b: number): number {
  if (a === b) return 0
  return a < b ? -1 : 1
}
