// A field's values by document, for sorting, ranges and aggregation.
// Format: docs/reference/formats/text-segment.md, "Columns".

import { readUint32 } from '../encoding/byte-buffer.ts'
import type { SegmentInput } from '../encoding/segment-file.ts'
import type { ListedDocuments } from '../encoding/listed-documents.ts'

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
  /** The documents with a value, where they are listed; undefined if they have to be looked for. */
  readonly listed: ListedDocuments | undefined
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
  /** The list of the documents with values, if few have some: ends and `perDoc` are those of the list. */
  readonly listed?: { readonly offset: number; readonly count: number } | undefined
}

/** The terms of a column of keywords, by ordinal. */
export interface OrdinalTerms {
  readonly count: number
  at(ordinal: number): string
  lowerBound(term: string): number
}

/**
 * A column that fewer than one document in four has is a list of documents: otherwise each document
 * of the segment takes four bytes.
 */
export const LISTED_SHARE = 4
const NO_VALUES = new Float64Array(0)

/** A column in a segment file, which must stay open while the column is used. */
export class DiskColumn implements ColumnReader {
  readonly kind: ColumnKind
  readonly #file: SegmentInput
  readonly #place: ColumnPlace
  readonly #terms: OrdinalTerms | undefined
  readonly #width: number
  readonly #list: ListInFile | undefined
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
    this.#list = place.listed && new ListInFile(file, place.listed)
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

  get listed(): ListedDocuments | undefined {
    return this.#list
  }

  count(doc: number): number {
    const entry = this.#entryOf(doc)
    if (entry < 0) return 0
    const { perDoc, endsOffset } = this.#place
    return endsOffset === 0 ? perDoc : this.#end(entry) - this.#end(entry - 1)
  }

  value(doc: number, i: number): number {
    const entry = this.#entryOf(doc)
    const at = this.#place.valuesOffset + (this.#end(entry - 1) + i) * this.#width
    this.#file.seek(at, this.#width)
    const { view } = this.#file
    if (this.#width === 4) return readUint32(view, this.#file.at)
    for (let j = 0; j < 8; j += 1) this.#scratchBytes[j] = view[this.#file.at + j] ?? 0
    return this.#scratch[0] ?? 0
  }

  read(from: number, to: number): ColumnChunk {
    if (this.#list === undefined) return this.#readEntries(from, to)
    const first = this.#list.placeOf(from)
    const last = this.#list.placeOf(to)
    if (first === last) return { values: NO_VALUES, ends: new Uint32Array(to - from) }
    const { values, ends } = this.#readEntries(first, last)
    const docs = this.#list.read(first, last)
    return { values, ends: spreadEnds({ docs, ends }, { from, to, start: 0 }) }
  }

  /** The place of the document in the list, where the column has one; -1 for a document without values. */
  #entryOf(doc: number): number {
    if (this.#list === undefined) return doc
    const place = this.#list.placeOf(doc)
    return this.#list.at(place) === doc ? place : -1
  }

  #readEntries(from: number, to: number): ColumnChunk {
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

  /** The number of values up to and including this document, or this one of the list. */
  #end(entry: number): number {
    const { perDoc, endsOffset } = this.#place
    if (entry < 0) return 0
    if (endsOffset === 0) return (entry + 1) * perDoc
    this.#file.seek(endsOffset + entry * 4, 4)
    return readUint32(this.#file.view, this.#file.at)
  }
}

/** Whether at least one of LISTED_SHARE documents has the field: then a column does not list them. */
export function isOftenPresent(count: number, docCount: number): boolean {
  return count * LISTED_SHARE >= docCount
}

/** Makes the ends of listed documents, less `start`, those of all documents of a range. */
export function spreadEnds(
  { docs, ends }: { readonly docs: Uint32Array; readonly ends: Uint32Array },
  range: { readonly from: number; readonly to: number; readonly start: number },
): Uint32Array {
  const { from, to, start } = range
  const all = new Uint32Array(to - from)
  let at = 0
  let before = 0
  for (let i = 0; i < docs.length; i += 1) {
    const own = (docs[i] ?? 0) - from
    for (; at < own; at += 1) all[at] = before
    before = (ends[i] ?? 0) - start
  }
  return all.fill(before, at)
}

/** The listed documents of a column, in its file. Callers mostly ask for ascending documents. */
class ListInFile implements ListedDocuments {
  readonly count: number
  readonly #file: SegmentInput
  readonly #offset: number
  /** The last answer: no listed document before this place is at or above the document. */
  #knownDoc = 0
  #knownPlace = 0

  constructor(file: SegmentInput, { offset, count }: { offset: number; count: number }) {
    this.#file = file
    this.#offset = offset
    this.count = count
  }

  /** The document at a place; -1 behind the last. */
  at(place: number): number {
    if (place >= this.count) return -1
    this.#file.seek(this.#offset + place * 4, 4)
    return readUint32(this.#file.view, this.#file.at)
  }

  read(from: number, to: number): Uint32Array {
    return new Uint32Array(this.#file.copy(this.#offset + from * 4, (to - from) * 4).buffer)
  }

  /** The place of the first document at or above `doc`, near that of the last question if it was below. */
  placeOf(doc: number): number {
    if (doc === this.#knownDoc) return this.#knownPlace
    let low = doc > this.#knownDoc ? this.#knownPlace : 0
    let high = low
    for (let step = 1; high < this.count && this.at(high) < doc; step *= 2) {
      low = high + 1
      high += step
    }
    high = Math.min(high, this.count)
    while (low < high) {
      const middle = (low + high) >>> 1
      if (this.at(middle) < doc) low = middle + 1
      else high = middle
    }
    this.#knownDoc = doc
    this.#knownPlace = low
    return low
  }
}
