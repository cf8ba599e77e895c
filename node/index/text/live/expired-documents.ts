// The documents of a segment that have expired, as a set that follows the clock.
//
// Documents that expire lie in buckets by their expiry time. At any moment the first buckets have
// expired as a whole, and at most one in part: a question reads the buckets that have expired since
// the last question, and one more.
//
// Invariants:
//   XD1  The bits are exactly the documents below `#known` and in the tail that have expired at `#nowMs`.
//   XD2  Returned bits do not change: they are copied before a change.

import { StepMeter, type Sliced } from '../../../../lib/sliced.ts'
import type { Segment } from '../segment/segment.ts'
import { hasBit, newBitset, type Bitset } from '../../encoding/bitset.ts'

const BUCKET_DOCS = 512
const BUCKETS_MAX = 4096
/** The evenly spread documents, for each bucket, whose times give the bounds of the buckets. */
const SAMPLES_PER_BUCKET = 8
const CHUNK_DOCS = 4096
/** The most documents behind the buckets. They came later and are looked at one by one. */
const TAIL_DOCS = 4096

interface Buckets {
  /** Times in bucket `i` are at most `bounds[i]` and above the bound before; the last is infinite. */
  readonly bounds: Float64Array
  /** The earliest time in each bucket. */
  readonly leasts: Float64Array
  /** Bucket `i` has the documents from `starts[i]` to `starts[i + 1]`. */
  readonly starts: Uint32Array
  readonly docs: Uint32Array
  readonly times: Float64Array
}

const NO_BUCKETS: Buckets = {
  bounds: new Float64Array(0),
  leasts: new Float64Array(0),
  starts: new Uint32Array(1),
  docs: new Uint32Array(0),
  times: new Float64Array(0),
}

/**
 * The expired documents of one segment. The caller asks with the segment as it is now, and with a
 * time that may be earlier than the last one.
 */
export class ExpiredDocuments {
  #buckets = NO_BUCKETS
  /** The documents below this are in the buckets. */
  #known = 0
  #tailEnd = 0
  #nowMs = -Infinity
  /** The buckets below this one have expired as a whole. */
  #bucket = 0
  #bits: Bitset = newBitset(0)
  #isShared = false
  #changes = 0

  /** Grows whenever a document enters or leaves the set that `at` returns. */
  get changes(): number {
    return this.#changes
  }

  get bytes(): number {
    const { bounds, leasts, starts, docs, times } = this.#buckets
    const parts = [bounds, leasts, starts, docs, times, this.#bits]
    return parts.reduce((sum, { byteLength }) => sum + byteLength, 0)
  }

  /** Brings the documents into buckets ahead of the first question, in slices. */
  *prepare(segment: Segment): Sliced<void> {
    if (segment.firstExpiryMs === Infinity) return
    const { docCount } = segment
    this.#buckets = yield* makeBuckets(segment)
    this.#known = docCount
    this.#tailEnd = docCount
    this.#nowMs = -Infinity
    this.#bucket = 0
    this.#bits = newBitset(docCount)
    this.#isShared = false
    this.#changes += 1
  }

  /** The expired documents of the segment, and perhaps later ones; see XD2. */
  at(segment: Segment, nowMs: number): Bitset | undefined {
    if (segment.firstExpiryMs > nowMs) return undefined
    const tailMax = Math.max(TAIL_DOCS, this.#known >>> 3)
    if (segment.docCount > this.#known + tailMax) for (const _ of this.prepare(segment));
    this.#setTail(segment, nowMs)
    if (nowMs < this.#nowMs) this.#goBack(nowMs)
    else this.#goOn(nowMs)
    this.#nowMs = nowMs
    this.#isShared = true
    return this.#bits
  }

  #goOn(nowMs: number): void {
    const { bounds, leasts, starts, docs, times } = this.#buckets
    for (; this.#bucket < bounds.length; this.#bucket += 1) {
      const isWaiting = (leasts[this.#bucket] ?? 0) > nowMs
      const end = isWaiting ? 0 : (starts[this.#bucket + 1] ?? 0)
      for (let i = starts[this.#bucket] ?? 0; i < end; i += 1) {
        if ((times[i] ?? 0) <= nowMs) this.#set(docs[i] ?? 0, true)
      }
      if ((bounds[this.#bucket] ?? 0) > nowMs) return
    }
  }

  /** The clock was set back, or an earlier search asks later. */
  #goBack(nowMs: number): void {
    const { bounds, starts, docs, times } = this.#buckets
    this.#bucket = Math.min(this.#bucket, bounds.length - 1)
    for (; this.#bucket >= 0; this.#bucket -= 1) {
      const end = starts[this.#bucket + 1] ?? 0
      for (let i = starts[this.#bucket] ?? 0; i < end; i += 1) {
        if ((times[i] ?? 0) > nowMs) this.#set(docs[i] ?? 0, false)
      }
      if (this.#bucket === 0 || (bounds[this.#bucket - 1] ?? 0) <= nowMs) break
    }
    this.#bucket = Math.max(this.#bucket, 0)
  }

  #setTail(segment: Segment, nowMs: number): void {
    this.#tailEnd = Math.max(this.#tailEnd, segment.docCount)
    if (this.#tailEnd === this.#known) return
    for (const [i, expiresAtMs] of segment.expiriesOf(this.#known, segment.docCount).entries()) {
      this.#set(this.#known + i, expiresAtMs > 0 && expiresAtMs <= nowMs)
    }
  }

  #set(doc: number, isExpired: boolean): void {
    if (hasBit(this.#bits, doc) === isExpired) return
    this.#changes += 1
    if (this.#isShared || doc >>> 5 >= this.#bits.length) this.#renewBits()
    this.#bits[doc >>> 5] = (this.#bits[doc >>> 5] ?? 0) ^ (1 << (doc & 31))
  }

  #renewBits(): void {
    const bits = newBitset(Math.max(this.#tailEnd, this.#bits.length * 32))
    bits.set(this.#bits)
    this.#bits = bits
    this.#isShared = false
  }
}

function* makeBuckets(segment: Segment): Sliced<Buckets> {
  const { bounds, count } = yield* chooseBounds(segment)
  const counts = new Uint32Array(bounds.length)
  yield* forEachExpiry(segment, (_, time) => {
    const bucket = bucketOf(bounds, time)
    counts[bucket] = (counts[bucket] ?? 0) + 1
  })
  const leasts = new Float64Array(bounds.length).fill(Infinity)
  const starts = new Uint32Array(bounds.length + 1)
  for (const [i, inBucket] of counts.entries()) starts[i + 1] = (starts[i] ?? 0) + inBucket
  const next = starts.slice()
  const docs = new Uint32Array(count)
  const times = new Float64Array(count)
  yield* forEachExpiry(segment, (doc, time) => {
    const bucket = bucketOf(bounds, time)
    const at = next[bucket] ?? 0
    next[bucket] = at + 1
    docs[at] = doc
    times[at] = time
    leasts[bucket] = Math.min(leasts[bucket] ?? Infinity, time)
  })
  return { bounds, leasts, starts, docs, times }
}

function* chooseBounds(
  segment: Segment,
): Sliced<{ readonly bounds: Float64Array; readonly count: number }> {
  let count = 0
  yield* forEachExpiry(segment, () => {
    count += 1
  })
  const buckets = Math.max(1, Math.min(BUCKETS_MAX, Math.ceil(count / BUCKET_DOCS)))
  const stride = Math.max(1, Math.floor(count / (buckets * SAMPLES_PER_BUCKET)))
  const samples: number[] = []
  let seen = 0
  yield* forEachExpiry(segment, (_, time) => {
    if (seen % stride === 0) samples.push(time)
    seen += 1
  })
  const sorted = Float64Array.from(samples).toSorted()
  const bounds = Float64Array.from({ length: buckets }, (_, i) => {
    return sorted[Math.floor(((i + 1) * sorted.length) / buckets)] ?? Infinity
  })
  bounds[buckets - 1] = Infinity
  apartFromTies(bounds)
  return { bounds, count }
}

/** A time that very many documents share has a bucket of its own, which expires at once. */
function apartFromTies(bounds: Float64Array): void {
  for (let i = bounds.length - 2; i >= 0; i -= 1) {
    const bound = bounds[i] ?? 0
    const isFirst = i === 0 || bounds[i - 1] !== bound
    if (isFirst && bounds[i + 1] === bound) bounds[i] = bound - bound * Number.EPSILON
  }
}

function* forEachExpiry(
  segment: Segment,
  visit: (doc: number, expiresAtMs: number) => void,
): Sliced<void> {
  const { docCount } = segment
  const meter = new StepMeter(CHUNK_DOCS)
  for (let from = 0; from < docCount; from += CHUNK_DOCS) {
    const to = Math.min(from + CHUNK_DOCS, docCount)
    const expiries = segment.expiriesOf(from, to)
    for (let i = 0; i < expiries.length; i += 1) {
      const time = expiries[i] ?? 0
      if (time > 0) visit(from + i, time)
    }
    if (meter.spend(to - from)) yield
  }
}

/** The first bucket whose bound is at or above the time. */
function bucketOf(bounds: Float64Array, time: number): number {
  let low = 0
  let high = bounds.length - 1
  while (low < high) {
    const middle = (low + high) >>> 1
    if ((bounds[middle] ?? 0) < time) low = middle + 1
    else high = middle
  }
  return low
}
