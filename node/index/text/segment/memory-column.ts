import type { ColumnChunk, ColumnKind, ColumnReader } from './column.ts'
import { GrowableFloat64, GrowableUint32 } from '../encoding/growable.ts'
import type { TextRanks } from './text-order.ts'

const NO_VALUES: Float64Array = new Float64Array(0)

/**
 * The values of a field, which grow document by document. A keyword is kept as the number of its
 * term, which does not change, and read as the rank of its term, which changes: see
 * MemoryColumnReader.
 */
export class MemoryColumn {
  readonly kind: ColumnKind
  readonly #ends = new GrowableUint32()
  readonly #values = new GrowableFloat64()

  constructor(kind: ColumnKind) {
    this.kind = kind
  }

  get bytes(): number {
    return this.#ends.length * 4 + this.#values.length * 8
  }

  /** Adds a value to the document for which `end` is called next. */
  push(value: number): void {
    this.#values.push(value)
  }

  /** Ends a document. Documents ascend, and each is ended at most once. */
  end(doc: number): void {
    const before = this.endOf(doc)
    while (this.#ends.length < doc) this.#ends.push(before)
    this.#ends.push(this.#values.length)
  }

  /** The number of values up to and including this document. */
  endOf(doc: number): number {
    const last = Math.min(doc, this.#ends.length - 1)
    return last < 0 ? 0 : (this.#ends.values[last] ?? 0)
  }

  /** A view of values in the order of their addition. */
  values(start: number, end: number): Float64Array {
    return this.#values.values.subarray(start, end)
  }
}

/** A growing column at the moment of its first rank. After that its ordinals do not change. */
export class MemoryColumnReader implements ColumnReader {
  readonly kind: ColumnKind
  readonly #column: MemoryColumn
  readonly #rank: () => TextRanks
  #known: TextRanks | undefined
  /** The sorted ordinals of the last document, computed once for all of its values. */
  #ranked = { doc: -1, values: NO_VALUES }

  /** `rank` returns the ranks of all terms. */
  constructor(column: MemoryColumn, rank: () => TextRanks) {
    this.kind = column.kind
    this.#column = column
    this.#rank = rank
  }

  get ordinalCount(): number {
    return this.kind === 'keyword' ? this.#ranks.count : 0
  }

  termOf(ordinal: number): string {
    return this.#ranks.at(ordinal)
  }

  ordinalOf(term: string): number {
    return this.#ranks.lowerBound(term)
  }

  count(doc: number): number {
    return this.#column.endOf(doc) - this.#column.endOf(doc - 1)
  }

  value(doc: number, i: number): number {
    if (this.#ranked.doc !== doc) this.#ranked = { doc, values: this.#valuesOf(doc) }
    return this.#ranked.values[i] ?? 0
  }

  read(from: number, to: number): ColumnChunk {
    const start = this.#column.endOf(from - 1)
    const ends = new Uint32Array(to - from)
    for (let i = 0; i < ends.length; i += 1) ends[i] = this.#column.endOf(from + i) - start
    const values = this.#column.values(start, this.#column.endOf(to - 1)).slice()
    if (this.kind !== 'keyword') return { values, ends }
    const ranks = this.#ranks
    for (let i = 0; i < values.length; i += 1) values[i] = ranks.rankOf(values[i] ?? 0)
    let first = 0
    for (const end of ends) {
      if (end > first + 1) values.subarray(first, end).sort()
      first = end
    }
    return { values, ends }
  }

  #valuesOf(doc: number): Float64Array {
    const values = this.#column.values(this.#column.endOf(doc - 1), this.#column.endOf(doc))
    if (this.kind !== 'keyword') return values
    const ranks = this.#ranks
    return values.map((term) => ranks.rankOf(term)).toSorted()
  }

  get #ranks(): TextRanks {
    this.#known ??= this.#rank()
    return this.#known
  }
}
