import { spreadEnds, type ColumnChunk, type ColumnKind, type ColumnReader } from './column.ts'
import { GrowableFloat64, GrowableUint32 } from '../../encoding/growable.ts'
import { listInMemory, placeOf, type ListedDocuments } from '../encoding/listed-documents.ts'
import type { TextRanks } from './text-order.ts'

const NO_VALUES: Float64Array = new Float64Array(0)

/**
 * The values of a field, which grow document by document. Only documents with values are there, so that
 * a field of few documents costs nothing for the others. A keyword is kept as the number of its
 * term, which does not change, and read as the rank of its term, which changes: see
 * MemoryColumnReader.
 */
export class MemoryColumn {
  readonly kind: ColumnKind
  readonly #docs = new GrowableUint32()
  /** The number of values up to and with each document. */
  readonly #ends = new GrowableUint32()
  readonly #values = new GrowableFloat64()

  constructor(kind: ColumnKind) {
    this.kind = kind
  }

  get bytes(): number {
    return (this.#docs.length + this.#ends.length) * 4 + this.#values.length * 8
  }

  /** Adds a value to the document for which `end` is called next. */
  push(value: number): void {
    this.#values.push(value)
  }

  /** Ends a document. Documents ascend, and each is ended at most once. */
  end(doc: number): void {
    if (this.#values.length === this.#endAt(this.#ends.length - 1)) return
    this.#docs.push(doc)
    this.#ends.push(this.#values.length)
  }

  /** The number of documents below `doc` with values. */
  countBelow(doc: number): number {
    const { length, values } = this.#docs
    // If one document has values, so have, most often, all before it.
    if (doc <= length && (doc === 0 || values[doc - 1] === doc - 1)) return doc
    return placeOf(values, doc, length)
  }

  /** The first `count` documents with values. */
  docs(count: number): Uint32Array {
    return this.#docs.values.subarray(0, count)
  }

  /** The number of values of the documents below this one. */
  endBelow(doc: number): number {
    return this.#endAt(this.countBelow(doc) - 1)
  }

  /** As `ColumnReader.read` answers, the values in the order of their addition. */
  read(from: number, to: number): ColumnChunk {
    const first = this.countBelow(from)
    const last = this.countBelow(to)
    const start = this.#endAt(first - 1)
    const values = this.#values.values.slice(start, this.#endAt(last - 1))
    const ends = this.#ends.values.subarray(first, last)
    const docs = this.#docs.values.subarray(first, last)
    return { values, ends: spreadEnds({ docs, ends }, { from, to, start }) }
  }

  /** A view of values in the order of their addition. */
  values(start: number, end: number): Float64Array {
    return this.#values.values.subarray(start, end)
  }

  #endAt(place: number): number {
    return place < 0 ? 0 : (this.#ends.values[place] ?? 0)
  }
}

/** A growing column at the moment of its first rank. After that its ordinals do not change. */
export class MemoryColumnReader implements ColumnReader {
  readonly kind: ColumnKind
  readonly #column: MemoryColumn
  readonly #docEnd: number
  readonly #rank: () => TextRanks
  #known: TextRanks | undefined
  /** The sorted ordinals of the last document, computed once for all of its values. */
  #ranked = { doc: -1, values: NO_VALUES }

  /** It reads the documents below `docEnd`. `rank` returns the ranks of all terms. */
  constructor(column: MemoryColumn, docEnd: number, rank: () => TextRanks) {
    this.kind = column.kind
    this.#docEnd = docEnd
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

  get listed(): ListedDocuments {
    return listInMemory(this.#column.docs(this.#column.countBelow(this.#docEnd)))
  }

  count(doc: number): number {
    return this.#column.endBelow(doc + 1) - this.#column.endBelow(doc)
  }

  value(doc: number, i: number): number {
    if (this.#ranked.doc !== doc) this.#ranked = { doc, values: this.#valuesOf(doc) }
    return this.#ranked.values[i] ?? 0
  }

  read(from: number, to: number): ColumnChunk {
    const { values, ends } = this.#column.read(from, to)
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
    const values = this.#column.values(this.#column.endBelow(doc), this.#column.endBelow(doc + 1))
    if (this.kind !== 'keyword') return values
    const ranks = this.#ranks
    return values.map((term) => ranks.rankOf(term)).toSorted()
  }

  get #ranks(): TextRanks {
    this.#known ??= this.#rank()
    return this.#known
  }
}
