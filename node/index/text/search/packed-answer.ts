// Answers with many buckets on their way from a worker. The receiver of a message reads all of it
// at once: sixty thousand buckets would hold up the event loop for tens of milliseconds. As bytes they
// cost a copy, and are read in steps.
//
// The tree of partials and buckets is written as a list of records, parents before their children, so that
// buckets are counted at whatever depth they stand. A piece is the bytes of some records that follow each other.

import { deserialize, serialize } from 'node:v8'
import { assert, must } from '../../../../lib/assert.ts'
import type { Sliced } from '../../../../lib/sliced.ts'
import type {
  AggregationPartial,
  AggregationPartials,
  BucketPartial,
} from '../aggregation/aggregation-partial.ts'
import type { TextSearchAnswer } from './text-search.ts'

/**
 * A piece of this weight is written or read in about a millisecond. A record weighs 1 or more by
 * its size.
 */
const WEIGHT_PER_PIECE = 1024
/** Bytes of a sketch are copied as they are. */
const BYTES_PER_WEIGHT = 256

/** An answer as it crosses a thread: with few buckets it is the answer itself. */
export interface PackedAnswer extends TextSearchAnswer {
  /** All aggregations in pieces. The answer itself then has none. */
  readonly packed?: { readonly partialCount: number; readonly pieces: readonly Uint8Array[] }
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

export function* packAnswer(answer: TextSearchAnswer): Sliced<PackedAnswer> {
  const { aggregations } = answer
  if (!weighsMoreThan(aggregations, WEIGHT_PER_PIECE)) return answer
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
  const packed = { partialCount: aggregations.size, pieces }
  return { ...answer, aggregations: new Map(), packed }
}

export function* unpackAnswer({ packed, ...answer }: PackedAnswer): Sliced<TextSearchAnswer> {
  if (packed === undefined) return answer
  const records = new RecordReader(packed.pieces)
  return { ...answer, aggregations: yield* readPartials(records, packed.partialCount) }
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
