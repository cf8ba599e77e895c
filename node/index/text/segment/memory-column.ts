import type { ColumnChunk, ColumnKind, ColumnReader, OrdinalTerms } from './column.ts'
import { GrowableFloat64, GrowableUint32 } from './growable.ts'

/** Ranks of a growing set of terms: what turns the numbers terms came with into ordinals. */
export interface TermRanks extends OrdinalTerms {
  rankOf(term: number): number
}

/** A column that grows document by document. Keywords are kept by term and read by rank. */
export class MemoryColumn implements ColumnReader {
  readonly kind: ColumnKind
  readonly #ends = new GrowableUint32()
  readonly #values = new GrowableFloat64()
  readonly #ranks: TermRanks | undefined

  constructor(kind: ColumnKind, ranks: TermRanks | undefined) {
    this.kind = kind
    this.#ranks = ranks
  }

  get bytes(): number {
    return this.#ends.length * 4 + this.#values.length * 8
  }

  get ordinalCount(): number {
    return this.#ranks?.count ?? 0
  }

  termOf(ordinal: number): string {
    return this.#ranks?.at(ordinal) ?? ''
  }

  ordinalOf(term: string): number {
    return this.#ranks?.lowerBound(term) ?? 0
  }

  /** Documents ascend; each is added at most once. */
  add(doc: number, values: readonly number[]): void {
    while (this.#ends.length < doc) this.#ends.push(this.#values.length)
    for (const value of values) this.#values.push(value)
    this.#ends.push(this.#values.length)
  }

  count(doc: number): number {
    return this.#end(doc) - this.#end(doc - 1)
  }

  value(doc: number, i: number): number {
    const start = this.#end(doc - 1)
    if (this.#ranks === undefined) return this.#values.values[start + i] ?? 0
    return this.#ranksBetween(start, this.#end(doc))[i] ?? 0
  }

  read(from: number, to: number): ColumnChunk {
    const start = this.#end(from - 1)
    const ends = new Uint32Array(to - from)
    for (let i = 0; i < ends.length; i += 1) ends[i] = this.#end(from + i) - start
    const values = this.#values.values.slice(start, this.#end(to - 1))
    if (this.#ranks === undefined) return { values, ends }
    let first = 0
    for (const end of ends) {
      values.set(this.#ranksBetween(start + first, start + end), first)
      first = end
    }
    return { values, ends }
  }

  #ranksBetween(start: number, end: number): Float64Array {
    const terms = this.#values.values.subarray(start, end)
    return terms.map((term) => this.#ranks?.rankOf(term) ?? 0).toSorted()
  }

  #end(doc: number): number {
    if (doc < 0) return 0
    return doc < this.#ends.length ? (this.#ends.values[doc] ?? 0) : this.#values.length
  }
}
