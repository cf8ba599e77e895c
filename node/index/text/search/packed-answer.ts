// Answers on their way from a worker.
//
// Hits are columns of plain values. An object for each, with a key in a buffer of its own, would cost a message of ten
// hits twenty microseconds more, and one of fifty hits sixty.
//
// The receiver of a message reads all of it at once: sixty thousand buckets would hold up the event loop for tens of
// milliseconds. As bytes they cost a copy, and are read in steps.
//
// The tree of partials and buckets is written as a list of records, parents before their children, so that
// buckets are counted at whatever depth they stand. A piece is the bytes of some records that follow each other.

import { deserialize, serialize } from 'node:v8'
import { assert, must } from '../../../../lib/assert.ts'
import { StepMeter, type Sliced } from '../../../../lib/sliced.ts'
import type { SortValue } from '../../../query/request/query-cursor.ts'
import type {
  AggregationPartial,
  AggregationPartials,
  BucketPartial,
} from '../aggregation/aggregation-partial.ts'
import { keyBytes, keyText } from '../matching/set-query.ts'
import type { TextHit, TextSearchAnswer } from './text-search.ts'

/**
 * A piece of this weight is written or read in about a millisecond. A record weighs 1 or more by
 * its size.
 */
const WEIGHT_PER_PIECE = 1024
/** Bytes of a sketch are copied as they are. */
const BYTES_PER_WEIGHT = 256

/** Hits that are written or read in some tenths of a millisecond. */
const HITS_PER_STEP = 512

/** An answer as it crosses a thread. With few buckets it has its aggregations themselves. */
export interface PackedAnswer extends Omit<TextSearchAnswer, 'hits'> {
  /** From another node: the hits themselves. */
  readonly hits: PackedHits | readonly TextHit[]
  /** All aggregations in pieces. The answer itself then has none. */
  readonly packed?: { readonly partialCount: number; readonly pieces: readonly Uint8Array[] }
}

/** Columns of one length. */
interface PackedHits {
  readonly kind: 'columns'
  /** One code unit for each byte. */
  readonly keys: readonly string[]
  readonly scores: readonly number[]
  /** Undefined: each hit is ordered by its score alone. */
  readonly sortValues: readonly (readonly SortValue[])[] | undefined
}

/** A partial without its buckets; the records of those follow. */
interface PartialRecord {
  readonly name: string
  readonly partial: AggregationPartial
  readonly bucketCount: number
}

/** A bucket without its partials; the records of those follow. */
interface BucketRecord extends Omit<BucketPartial, 'sub'> {
  readonly partialCount: number
}

export function* packAnswer({ hits, ...answer }: TextSearchAnswer): Sliced<PackedAnswer> {
  const packed = yield* packHits(hits)
  const { aggregations } = answer
  if (aggregations.size === 0 || !weighsMoreThan(aggregations, WEIGHT_PER_PIECE)) {
    return { ...answer, hits: packed }
  }
  const pieces: Uint8Array[] = []
  let piece: (PartialRecord | BucketRecord)[] = []
  let weight = 0
  for (const record of recordsOf(aggregations)) {
    piece.push(record)
    weight += weightOf(record)
    if (weight < WEIGHT_PER_PIECE) continue
    pieces.push(serialize(piece))
    piece = []
    weight = 0
    yield
  }
  if (piece.length > 0) pieces.push(serialize(piece))
  const partialCount = aggregations.size
  return { ...answer, hits: packed, aggregations: new Map(), packed: { partialCount, pieces } }
}

export function* unpackAnswer({ packed, ...told }: PackedAnswer): Sliced<TextSearchAnswer> {
  const hits = yield* unpackHits(told.hits)
  if (packed === undefined) return { ...told, hits }
  const records = new RecordReader(packed.pieces)
  return { ...told, hits, aggregations: yield* readPartials(records, packed.partialCount) }
}

function* packHits(hits: readonly TextHit[]): Sliced<PackedHits> {
  const meter = new StepMeter(HITS_PER_STEP)
  const keys: string[] = []
  const scores: number[] = []
  const sortValues: (readonly SortValue[])[] = []
  let isByScore = true
  for (const hit of hits) {
    if (meter.spend(1)) yield
    keys.push(keyText(hit.key))
    scores.push(hit.score)
    sortValues.push(hit.sortValues)
    isByScore &&= hit.sortValues.length === 1 && Object.is(hit.sortValues[0], hit.score)
  }
  return { kind: 'columns', keys, scores, sortValues: isByScore ? undefined : sortValues }
}

function* unpackHits(packed: PackedAnswer['hits']): Sliced<readonly TextHit[]> {
  if (!isInColumns(packed)) return packed
  const { keys, scores, sortValues } = packed
  const hits: TextHit[] = []
  for (let from = 0; from < keys.length; from += HITS_PER_STEP) {
    if (from > 0) yield
    const some = keys.slice(from, from + HITS_PER_STEP)
    // Parts of one buffer: to allocate each takes as long as all else that is done for a hit here.
    const bytes = keyBytes(some.join(''))
    let at = 0
    for (const [i, { length }] of some.entries()) {
      const score = must(scores[from + i], 'a score')
      const values = sortValues === undefined ? [score] : must(sortValues[from + i], 'sort values')
      hits.push({ key: bytes.subarray(at, at + length), score, sortValues: values })
      at += length
    }
  }
  return hits
}

function isInColumns(hits: PackedAnswer['hits']): hits is PackedHits {
  return 'kind' in hits
}

function weighsMoreThan(partials: AggregationPartials, weight: number): boolean {
  let left = weight
  for (const record of recordsOf(partials)) {
    left -= weightOf(record)
    if (left < 0) return true
  }
  return false
}

function weightOf(record: PartialRecord | BucketRecord): number {
  if (!('partial' in record)) return 1
  const { partial } = record
  if (partial.kind === 'distinct') return 1 + partial.values.length
  return partial.kind === 'sketch' ? 1 + partial.registers.length / BYTES_PER_WEIGHT : 1
}

function* recordsOf(partials: AggregationPartials): Generator<PartialRecord | BucketRecord> {
  for (const [name, partial] of partials) {
    if (partial.kind !== 'buckets') {
      yield { name, partial, bucketCount: 0 }
      continue
    }
    const { buckets } = partial
    yield { name, partial: { ...partial, buckets: [] }, bucketCount: buckets.length }
    for (const { sub, ...bucket } of buckets) {
      yield { ...bucket, partialCount: sub.size }
      if (sub.size > 0) yield* recordsOf(sub)
    }
  }
}

function* readPartials(records: RecordReader, count: number): Sliced<AggregationPartials> {
  const partials = new Map<string, AggregationPartial>()
  for (let i = 0; i < count; i += 1) {
    if (records.needsPiece) yield
    const { name, partial, bucketCount } = records.nextPartial()
    const hasBuckets = partial.kind === 'buckets' && bucketCount > 0
    const buckets = hasBuckets ? yield* readBuckets(records, bucketCount) : []
    partials.set(name, hasBuckets ? { ...partial, buckets } : partial)
  }
  return partials
}

function* readBuckets(records: RecordReader, count: number): Sliced<readonly BucketPartial[]> {
  const buckets: BucketPartial[] = []
  for (let i = 0; i < count; i += 1) {
    if (records.needsPiece) yield
    const { partialCount, ...bucket } = records.nextBucket()
    const sub = partialCount === 0 ? new Map() : yield* readPartials(records, partialCount)
    buckets.push({ ...bucket, sub })
  }
  return buckets
}

/** Reads the records of the pieces one after the other. */
class RecordReader {
  readonly #pieces: readonly Uint8Array[]
  #nextPiece = 0
  /** The records of the present piece, unchecked because our own worker wrote them. */
  #records: readonly (PartialRecord | BucketRecord)[] = []
  #at = 0

  constructor(pieces: readonly Uint8Array[]) {
    this.#pieces = pieces
  }

  /** Whether the next record is in another piece, and is not the first of all. */
  get needsPiece(): boolean {
    return this.#at === this.#records.length && this.#nextPiece > 0
  }

  nextPartial(): PartialRecord {
    const record = this.#next()
    assert('partial' in record, 'a partial is next')
    return record
  }

  nextBucket(): BucketRecord {
    const record = this.#next()
    assert('partialCount' in record, 'a bucket is next')
    return record
  }

  #next(): PartialRecord | BucketRecord {
    if (this.#at === this.#records.length) {
      this.#records = deserialize(must(this.#pieces[this.#nextPiece], 'one more piece'))
      this.#nextPiece += 1
      this.#at = 0
    }
    const record = must(this.#records[this.#at], 'one more record')
    this.#at += 1
    return record
  }
}
