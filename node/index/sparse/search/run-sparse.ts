// Finds the documents of an index of sparse vectors with the largest inner products with one. All answers are exact.

import { StepMeter, type Sliced } from '../../../../lib/sliced.ts'
import { packNearest } from '../../vector/search/packed-nearest.ts'
import { NearestDocuments } from '../../vector/search/nearest-documents.ts'
import {
  expiredCount,
  listedDocuments,
  LOOKS_PER_STEP,
  passes,
} from '../../vector/search/passing-documents.ts'
import type { PackedNearest, SparseRequest, SparseVector } from '../../vector/vector-search.ts'
import type { SparseIndex, SparsePart } from '../segment/sparse-index.ts'
import type { SparseSegment } from '../segment/sparse-segment.ts'
import { SparseTail } from '../segment/sparse-tail.ts'
import { offerBest, productOf } from './max-score.ts'
import { BestRowSink } from './best-row-sink.ts'
import { SoughtTerm } from './sought-term.ts'

/** Terms that are looked up in a segment, and read from its file, in about a millisecond. */
const TERMS_PER_STEP = 32
/** Terms that are compared in about a millisecond. */
const COMPARED_PER_STEP = 2 ** 17
/** A lookup of a row costs as much as a walk over eight postings. */
const LOOKUP_COST = 8

/** The index as it is at the first step. The request has the shape that `isSparseRequest` checks. */
export function* runSparse(index: SparseIndex, request: SparseRequest): Sliced<PackedNearest> {
  const snapshot = index.snapshot(request.filter)
  try {
    const search = new SparseSearch(request)
    for (const part of snapshot.parts) yield* search.searchPart(part)
    const total = snapshot.liveCount - (yield* expiredCount(snapshot, request))
    return yield* packNearest(yield* search.found.drain(), total)
  } finally {
    snapshot.release()
  }
}

class SparseSearch {
  readonly found: NearestDocuments
  readonly #request: SparseRequest

  constructor(request: SparseRequest) {
    this.#request = request
    this.found = new NearestDocuments(request.limit, {})
  }

  *searchPart(part: SparsePart): Sliced<void> {
    const { rows } = part
    if (rows instanceof SparseTail) yield* this.#compareAll(part, rows)
    else yield* this.#searchSegment(part, rows)
  }

  *#searchSegment(part: SparsePart, segment: SparseSegment): Sliced<void> {
    const terms = yield* termsOf(segment, this.#request.vector)
    if (terms.length === 0) return
    const sink = this.#sinkOf(part)
    const listed = this.#listed(part, terms)
    if (listed === undefined) yield* offerBest(terms, segment.rowCount, sink)
    else yield* offerListed(part, listed, { terms, sink })
    sink.end()
  }

  /** The documents of a short filter, if looking them up costs less than walking the postings. */
  #listed(part: SparsePart, terms: readonly SoughtTerm[]): Uint32Array | undefined {
    const { filter } = this.#request
    if (filter?.kind !== 'list') return undefined
    const postings = terms.reduce((sum, { walk }) => sum + walk.postings.count, 0)
    const rowsPerDocument = part.rows.rowCount / part.docCount
    const lookups = filter.ordinals.length * rowsPerDocument * terms.length
    if (lookups * LOOKUP_COST > postings) return undefined
    return listedDocuments(part, filter.ordinals, this.#request)
  }

  /** Compares with each row, as far as documents may be hits. */
  *#compareAll(part: SparsePart, rows: SparseTail): Sliced<void> {
    const { docCount } = part
    const { vector } = this.#request
    const sink = this.#sinkOf(part)
    const meter = new StepMeter(COMPARED_PER_STEP)
    const lookCost = COMPARED_PER_STEP / LOOKS_PER_STEP
    for (let doc = 0; doc < docCount; doc += 1) {
      if (meter.spend(lookCost)) yield
      if (!passes(part, doc, this.#request)) continue
      const end = rows.firstRowOf(doc + 1)
      for (let row = rows.firstRowOf(doc); row < end; row += 1) {
        const other = rows.vectorOf(row)
        const product = innerProduct(vector, other)
        if (product > 0) sink.offer(row, product)
        if (meter.spend(vector.terms.length + other.terms.length)) yield
      }
    }
    sink.end()
  }

  #sinkOf(part: SparsePart): BestRowSink {
    return new BestRowSink(this.found, part.rows, (doc) => passes(part, doc, this.#request))
  }
}

/** The terms of the query that the segment has, ascending. */
function* termsOf(segment: SparseSegment, vector: SparseVector): Sliced<readonly SoughtTerm[]> {
  const meter = new StepMeter(TERMS_PER_STEP)
  const found: SoughtTerm[] = []
  for (const [i, term] of vector.terms.entries()) {
    const weight = vector.weights[i] ?? 0
    const postings = weight > 0 ? segment.postings.termOf(term) : undefined
    if (postings !== undefined) found.push(new SoughtTerm(weight, postings))
    if (meter.spend(1)) yield
  }
  return found
}

interface Offering {
  readonly terms: readonly SoughtTerm[]
  readonly sink: BestRowSink
}

function* offerListed(
  { rows }: SparsePart,
  docs: Uint32Array,
  { terms, sink }: Offering,
): Sliced<void> {
  const meter = new StepMeter(COMPARED_PER_STEP / LOOKUP_COST)
  for (const doc of docs) {
    const end = rows.firstRowOf(doc + 1)
    for (let row = rows.firstRowOf(doc); row < end; row += 1) {
      const product = productOf(terms, row)
      if (product > 0) sink.offer(row, product)
      if (meter.spend(terms.length)) yield
    }
  }
}

/** Σab in the order of the terms, as `productOf` adds it up. */
function innerProduct(query: SparseVector, other: SparseVector): number {
  let sum = 0
  let at = 0
  for (let i = 0; i < query.terms.length; i += 1) {
    const term = query.terms[i] ?? 0
    while (at < other.terms.length && (other.terms[at] ?? 0) < term) at += 1
    if (other.terms[at] === term) sum += (query.weights[i] ?? 0) * (other.weights[at] ?? 0)
  }
  return sum
}
