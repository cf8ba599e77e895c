// Which rows of a segment, or of a tail, a search may find, asked for very many of them.

import type { Sliced } from '../../../../lib/sliced.ts'
import { hasOrdinal, type OrdinalSet } from '../../host/ordinal-set.ts'
import type { ListPart, RowTest } from '../lists/row-lists.ts'
import type { PartView } from '../../rows/part-view.ts'
import { hasBit } from '../../encoding/bitset.ts'
import type { PlacedOrdinals } from '../segment/placed-ordinals.ts'
import { isExpired } from '../../rows/document-rows.ts'
import type { DenseRows } from '../segment/dense-rows.ts'
import type { VectorSegment } from '../segment/vector-segment.ts'
import type { NearestRequest } from '../vector-search.ts'
import { listedDocuments, LOOKS_PER_STEP, runsOf, type DocumentRun } from './passing-documents.ts'

/** A part of an index of dense vectors. */
export type DensePart = PartView<DenseRows, VectorSegment>

/** Documents of a list are looked up one by one in a part that has 48 times as many or more. */
const LISTED_SHARE = 48
/** A list is made a bitmap for a search, unless its ordinals are farther apart: 128 KiB. */
const BITS_MAX = 2 ** 20

/** Documents, by some of their rows. */
export interface FoundDocuments {
  readonly docs: Uint32Array
  readonly rowsOf: (doc: number) => readonly number[]
}

/** The conditions of one search for one part. */
export class PassingRows implements RowTest {
  readonly #part: DensePart
  readonly #request: Pick<NearestRequest, 'filter' | 'nowMs'>
  readonly #mayExpire: boolean
  // By document, the ordinals, and the bits of a filter: a list has hundreds of rows to ask about.
  readonly #ordinals: Uint32Array | undefined
  readonly #words: Uint32Array | undefined
  readonly #from: number

  constructor(part: DensePart, request: Pick<NearestRequest, 'filter' | 'nowMs'>) {
    const { filter, nowMs } = request
    this.#part = part
    this.#request = request
    this.#mayExpire = part.rows.firstExpiryMs <= nowMs
    this.#ordinals = part.segment?.ordinals
    const bitmap = filter?.kind === 'list' ? bitmapOf(filter.ordinals) : filter
    this.#words = bitmap?.words
    this.#from = bitmap?.from ?? 0
  }

  gather(rows: Uint32Array, { from, to }: ListPart, places: Uint32Array): number {
    const placed = this.#mayExpire ? undefined : this.#part.segment?.placedOrdinals
    if (placed !== undefined) return this.#gatherDocuments(placed, rows, { from, to }, places)
    let count = 0
    for (let place = from; place < to; place += 1) {
      if (!this.#has(this.#part.rows.docOfRow(rows[place] ?? 0))) continue
      places[count] = place
      count += 1
    }
    return count
  }

  /** All documents, ascending, as many as are found in a step. */
  *runs(): Generator<Iterable<DocumentRun>> {
    const { docCount, liveCount } = this.#part
    if (this.#request.filter === undefined && liveCount === docCount && !this.#mayExpire) {
      yield [{ from: 0, to: docCount }]
      return
    }
    for (const docs of this.documents()) yield runsOf(docs)
  }

  /** The same, one by one. */
  *documents(): Generator<Uint32Array> {
    const { docCount } = this.#part
    const { filter } = this.#request
    if (filter?.kind === 'list' && filter.ordinals.length < docCount / LISTED_SHARE) {
      yield listedDocuments(this.#part, filter.ordinals, this.#request)
      return
    }
    for (let from = 0; from < docCount; from += LOOKS_PER_STEP) {
      const end = Math.min(from + LOOKS_PER_STEP, docCount)
      const found = new Uint32Array(end - from)
      let count = 0
      for (let doc = from; doc < end; doc += 1) {
        if (!this.#has(doc)) continue
        found[count] = doc
        count += 1
      }
      yield found.subarray(0, count)
    }
  }

  /** The rows of the documents of a short list, ascending; undefined if the filter is not a list. */
  *listedRows(): Sliced<Uint32Array | undefined> {
    const { filter } = this.#request
    if (filter?.kind !== 'list') return undefined
    const { rows } = this.#part
    const found: number[] = []
    for (const docs of this.documents()) {
      for (const doc of docs) {
        const end = rows.firstRowOf(doc + 1)
        for (let row = rows.firstRowOf(doc); row < end; row += 1) found.push(row)
      }
      yield
    }
    return Uint32Array.from(found)
  }

  /** The documents that pass, in the order of their first row. */
  byDocument(found: Uint32Array): FoundDocuments {
    const { rows } = this.#part
    if (rows.docCount === rows.rowCount) {
      return { docs: found.filter((doc) => this.#has(doc)), rowsOf: (doc) => [doc] }
    }
    const rowsByDoc = new Map<number, number[]>()
    for (const row of found) {
      const doc = rows.docOfRow(row)
      const known = rowsByDoc.get(doc)
      if (known !== undefined) known.push(row)
      else if (this.#has(doc)) rowsByDoc.set(doc, [row])
    }
    return { docs: Uint32Array.from(rowsByDoc.keys()), rowsOf: (doc) => rowsByDoc.get(doc) ?? [] }
  }

  /** The rows are documents, and one after the other is asked for hundreds: everything is at hand. */
  #gatherDocuments(
    placed: PlacedOrdinals,
    docs: Uint32Array,
    part: ListPart,
    places: Uint32Array,
  ): number {
    const { from, to } = part
    const { deleted, liveCount, docCount } = this.#part
    const hasDeleted = liveCount < docCount
    const ordinals = placed.of(docs, part)
    const [words, start, filter] = [this.#words, this.#from, this.#request.filter]
    let count = 0
    for (let place = from; place < to; place += 1) {
      if (hasDeleted && hasBit(deleted, docs[place] ?? 0)) continue
      const ordinal = ordinals[place] ?? 0
      if (words !== undefined) {
        const bit = ordinal - start
        if (bit < 0 || (((words[bit >>> 5] ?? 0) >>> (bit & 31)) & 1) === 0) continue
      } else if (filter !== undefined && !hasOrdinal(filter, ordinal)) continue
      places[count] = place
      count += 1
    }
    return count
  }

  #has(doc: number): boolean {
    const { rows, deleted } = this.#part
    const { filter, nowMs } = this.#request
    if (hasBit(deleted, doc)) return false
    if (this.#mayExpire && isExpired(rows, doc, nowMs)) return false
    return filter === undefined || this.#isMember(doc, filter)
  }

  #isMember(doc: number, filter: OrdinalSet): boolean {
    const ordinal = this.#ordinals?.[doc] ?? this.#part.rows.ordinalOf(doc)
    if (this.#words === undefined) return hasOrdinal(filter, ordinal)
    const bit = ordinal - this.#from
    return bit >= 0 && (((this.#words[bit >>> 5] ?? 0) >>> (bit & 31)) & 1) === 1
  }
}

type OrdinalBitmap = Extract<OrdinalSet, { readonly kind: 'bitmap' }>

/** Ascending ordinals. */
function bitmapOf(ordinals: Uint32Array): OrdinalBitmap | undefined {
  const from = Math.floor((ordinals[0] ?? 0) / 32) * 32
  const bits = (ordinals.at(-1) ?? 0) + 1 - from
  if (ordinals.length === 0 || bits > BITS_MAX) return undefined
  const words = new Uint32Array(Math.ceil(bits / 32))
  for (const ordinal of ordinals) {
    const bit = ordinal - from
    words[bit >>> 5] = (words[bit >>> 5] ?? 0) | (1 << (bit & 31))
  }
  return { kind: 'bitmap', from, words }
}
