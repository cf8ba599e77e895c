// A field's values by document, for sorting, ranges and aggregation.
// Format: docs/formats/text-segment.md, "Columns".

import { readUint32 } from '../encoding/byte-buffer.ts'
import type { SegmentInput } from '../encoding/segment-file.ts'

export type ColumnKind = 'number' | 'keyword' | 'point'

/**
 * The values of one field in one segment. Contract:
 * - `count(doc)` is 0 for a document without the field.
 * - The i-th value of `doc`: a number, or for keywords the ordinal of a term in the segment; a
 *   document's numbers and ordinals ascend. Points keep their order: value 2i is the longitude and
 *   value 2i + 1 the latitude, and `count` counts both.
 * - `read` fills `values` with all values of documents `from` to `to` (not included), one after
 *   the other, and `ends[i]` with the number of values up to and with document `from + i`.
 *   The arrays do not change afterwards, and must not be changed.
 */
export interface ColumnReader {
  readonly kind: ColumnKind
  count(doc: number): number
  value(doc: number, i: number): number
  read(from: number, to: number): ColumnChunk
  /** Keywords only: the term of an ordinal, and the number of terms below a text. */
  termOf(ordinal: number): string
  ordinalOf(term: string): number
  /** Keywords only: ordinals are below this. */
  readonly ordinalCount: number
}

/** The values of a range of documents, as `ColumnReader.read` answers them. */
export interface ColumnChunk {
  readonly values: Float64Array
  readonly ends: Uint32Array
}

/**
 * The place of a column in its segment file, as the description of the segment keeps it. Offsets
 * are in bytes.
 */
export interface ColumnPlace {
  /** 0: every document has exactly `perDoc` values and there are no ends. */
  readonly endsOffset: number
  readonly valuesOffset: number
  readonly perDoc: number
}

/** The terms of a column of keywords, by ordinal. */
export interface OrdinalTerms {
  readonly count: number
  at(ordinal: number): string
  lowerBound(term: string): number
}

/** A column in a segment file, which must stay open while the column is used. */
export class DiskColumn implements ColumnReader {
  readonly kind: ColumnKind
  readonly #file: SegmentInput
  readonly #place: ColumnPlace
  readonly #terms: OrdinalTerms | undefined
  readonly #width: number
  readonly #scratch = new Float64Array(1)
  readonly #scratchBytes = new Uint8Array(this.#scratch.buffer)
  #ends = new Uint32Array(0)

  constructor(
    file: SegmentInput,
    place: ColumnPlace,
    options: { kind: ColumnKind; terms: OrdinalTerms | undefined },
  ) {
    this.kind = options.kind
    this.#file = file
    this.#place = place
    this.#terms = options.terms
    this.#width = options.kind === 'keyword' ? 4 : 8
  }

  get ordinalCount(): number {
    return this.#terms?.count ?? 0
  }

  termOf(ordinal: number): string {
    return this.#terms?.at(ordinal) ?? ''
  }

  ordinalOf(term: string): number {
    return this.#terms?.lowerBound(term) ?? 0
  }

  count(doc: number): number {
    const { perDoc, endsOffset } = this.#place
    return endsOffset === 0 ? perDoc : this.#end(doc) - this.#end(doc - 1)
  }

  value(doc: number, i: number): number {
    const at = this.#place.valuesOffset + (this.#end(doc - 1) + i) * this.#width
    this.#file.seek(at, this.#width)
    const { view } = this.#file
    if (this.#width === 4) return readUint32(view, this.#file.at)
    for (let j = 0; j < 8; j += 1) this.#scratchBytes[j] = view[this.#file.at + j] ?? 0
    return this.#scratch[0] ?? 0
  }

  read(from: number, to: number): ColumnChunk {
    const ends = this.#readEnds(from, to)
    const first = this.#end(from - 1)
    const count = ends[to - from - 1] ?? 0
    const bytes = this.#file.copy(
      this.#place.valuesOffset + first * this.#width,
      count * this.#width,
    )
    const values =
      this.#width === 8
        ? new Float64Array(bytes.buffer, 0, count)
        : new Float64Array(new Uint32Array(bytes.buffer, 0, count))
    return { values, ends }
  }

  #readEnds(from: number, to: number): Uint32Array {
    const { perDoc, endsOffset } = this.#place
    if (endsOffset === 0) return this.#regularEnds(to - from, perDoc)
    const bytes = this.#file.copy(endsOffset + from * 4, (to - from) * 4)
    const ends = new Uint32Array(bytes.buffer)
    const first = this.#end(from - 1)
    if (first > 0) for (let i = 0; i < ends.length; i += 1) ends[i] = (ends[i] ?? 0) - first
    return ends
  }

  /** The ends of documents that all have equally many values. */
  #regularEnds(count: number, perDoc: number): Uint32Array {
    if (this.#ends.length < count) {
      const ends = new Uint32Array(count)
      for (let i = 0; i < count; i += 1) ends[i] = (i + 1) * perDoc
      this.#ends = ends
    }
    return this.#ends.subarray(0, count)
  }

  /** The number of values up to and including this document. */
  #end(doc: number): number {
    const { perDoc, endsOffset } = this.#place
    if (doc < 0) return 0
    if (endsOffset === 0) return (doc + 1) * perDoc
    this.#file.seek(endsOffset + doc * 4, 4)
    return readUint32(this.#file.view, this.#file.at)
  }
}
