// The norms of one text field in one segment: a byte for each document, 0 for a document without the
// field. Fields that many documents have are dense: their byte is at the document's number. Of the others
// only the documents with the field are listed, and a table of places finds a document among them.

import type { Sliced } from '../../../../lib/sliced.ts'
import { listInMemory, type ListedDocuments } from './listed-documents.ts'

/**
 * A field that fewer than one document in eight has is listed: a document's byte takes eight bytes at
 * most if the field is dense, and six if it is listed.
 */
export const DENSE_SHARE = 8
/** The table of places has an entry for about eight listed documents. */
const LISTED_PER_PLACE = 8
/** With one entry for all documents, a look-up halves the whole list. */
const WHOLE_SHIFT = 31
const DOCS_PER_STEP = 65_536
const NO_BYTES = new Uint8Array(0)
const NO_DOCS = new Uint32Array(0)

/** The list of a field's documents, the byte of each, and the table of places. */
export interface ListedNorms {
  readonly docs: Uint32Array
  readonly bytes: Uint8Array
  /** `places[i]` is the number of listed documents below `i << shift`. */
  readonly places: Uint32Array
  readonly shift: number
}

/** The norm byte of each document of a segment. It does not change. */
export class FieldNorms {
  /** By document, and perhaps shorter than the segment; empty if the field is listed. */
  readonly dense: Uint8Array
  /** The documents with a length above 0, if few have the field. */
  readonly listed: ListedDocuments | undefined
  readonly #docs: Uint32Array
  readonly #bytes: Uint8Array
  readonly #places: Uint32Array
  readonly #shift: number

  static ofAll(dense: Uint8Array): FieldNorms {
    return new FieldNorms(dense, undefined)
  }

  static ofListed(listed: ListedNorms): FieldNorms {
    return new FieldNorms(NO_BYTES, listed)
  }

  private constructor(dense: Uint8Array, listed: ListedNorms | undefined) {
    const { docs = NO_DOCS, bytes = NO_BYTES, places = NO_DOCS, shift = WHOLE_SHIFT } = listed ?? {}
    this.dense = dense
    this.listed = listed === undefined ? undefined : listInMemory(docs)
    this.#docs = docs
    this.#bytes = bytes
    this.#places = places
    this.#shift = shift
  }

  /** A dense array answers by one look, because scores of common fields depend on it. */
  at(doc: number): number {
    return this.dense[doc] ?? this.#find(doc)
  }

  #find(doc: number): number {
    const place = doc >>> this.#shift
    let low = this.#places[place] ?? 0
    let high = this.#places[place + 1] ?? low
    while (low < high) {
      const middle = (low + high) >>> 1
      if ((this.#docs[middle] ?? 0) < doc) low = middle + 1
      else high = middle
    }
    return this.#docs[low] === doc ? (this.#bytes[low] ?? 0) : 0
  }
}

/** Whether a field that `count` of the documents have is dense. */
export function isDense(count: number, docCount: number): boolean {
  return count * DENSE_SHARE >= docCount
}

/** Norms of a list without a table of places: for lists that grow, or are looked at once. */
export function normsOfList(docs: Uint32Array, bytes: Uint8Array): FieldNorms {
  const places = Uint32Array.of(0, docs.length)
  return FieldNorms.ofListed({ docs, bytes, places, shift: WHOLE_SHIFT })
}

/** How many low bits of a document's number the table of places leaves out. */
export function shiftOf(count: number, docCount: number): number {
  const docsPerPlace = (docCount * LISTED_PER_PLACE) / Math.max(count, 1)
  return Math.min(Math.ceil(Math.log2(Math.max(docsPerPlace, 1))), WHOLE_SHIFT)
}

/** The length of the table of places for documents below `docCount`. */
export function placeCount(docCount: number, shift: number): number {
  return (Math.max(docCount - 1, 0) >>> shift) + 2
}

/** Fills in the table of places for `docs`. It has been 0 everywhere. */
export function* fillPlaces(places: Uint32Array, docs: Uint32Array, shift: number): Sliced<void> {
  let place = 0
  for (let i = 0; i < docs.length; i += 1) {
    if (i % DOCS_PER_STEP === DOCS_PER_STEP - 1) yield
    const own = (docs[i] ?? 0) >>> shift
    while (place < own) {
      place += 1
      places[place] = i
    }
  }
  places.fill(docs.length, place + 1)
}
