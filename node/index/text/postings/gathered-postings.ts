import { StepMeter, type Sliced } from '../../../../lib/sliced.ts'
import { BLOCK_LENGTH } from '../../encoding/bit-packing.ts'
import { GrowableUint32 } from '../../encoding/growable.ts'
import { PositionBlock, PositionsWalk, type PostingsSource } from './postings-source.ts'
import type { PostingsWriter } from './postings-writer.ts'

const INSERTION_MAX = 24
/** Longer lists, and those of a good part of the documents, are ordered by scattering. */
const SCATTER_RATIO = 16
const SORTED_MAX = 16_384
/** Postings and positions: about a millisecond of work. */
const POSTINGS_PER_STEP = 8192
const SCATTERED_PER_STEP = 131_072
/** The most positions that a block gathers at once. Nearly all blocks have some hundreds. */
const BLOCK_POSITIONS_MAX = 131_072

/** Gathers one term's postings from several segments, in the order of the new documents. */
export class GatheredPostings {
  readonly #docs = new GrowableUint32()
  readonly #freqs = new GrowableUint32()
  readonly #starts = new GrowableUint32()
  readonly #positions = new GrowableUint32()
  readonly #blockDocs = new Uint32Array(BLOCK_LENGTH)
  readonly #blockFreqs = new Uint32Array(BLOCK_LENGTH)
  readonly #block = new PositionBlock()
  #slots = new Int32Array(0)

  clear(): void {
    this.#docs.length = 0
    this.#freqs.length = 0
    this.#starts.length = 0
    this.#positions.length = 0
  }

  get length(): number {
    return this.#docs.length
  }

  get positionCount(): number {
    return this.#positions.length
  }

  /**
   * Adds the postings of one segment. `docMap` holds the new number of each document, -1 for a
   * dropped one.
   */
  *gather(source: PostingsSource, docMap: Int32Array, hasPositions: boolean): Sliced<void> {
    const meter = new StepMeter(POSTINGS_PER_STEP)
    for (let block = 0; block < source.blockCount; block += 1) {
      const before = this.#positions.length
      if (!this.gatherBlock(source, block, { docMap, hasPositions })) {
        yield* this.gatherLongBlock(source, block, docMap)
      }
      if (meter.spend(BLOCK_LENGTH + this.#positions.length - before)) yield
    }
  }

  /**
   * Gathers one block. False, without any effect, if it has more positions than a step may read.
   */
  gatherBlock(
    source: PostingsSource,
    block: number,
    { docMap, hasPositions }: { readonly docMap: Int32Array; readonly hasPositions: boolean },
  ): boolean {
    const count = source.decodeDocs(block, this.#blockDocs)
    source.decodeFreqs(block, this.#blockFreqs)
    if (hasPositions && sumOf(this.#blockFreqs, count) > BLOCK_POSITIONS_MAX) return false
    if (hasPositions) source.decodePositions(block, this.#blockFreqs, this.#block)
    for (let i = 0; i < count; i += 1) {
      const doc = docMap[this.#blockDocs[i] ?? 0] ?? -1
      if (doc >= 0) this.#add(doc, i, hasPositions)
    }
    return true
  }

  /** Gathers one block with positions, one document in each step. */
  *gatherLongBlock(source: PostingsSource, block: number, docMap: Int32Array): Sliced<void> {
    const count = source.decodeDocs(block, this.#blockDocs)
    source.decodeFreqs(block, this.#blockFreqs)
    const walk = new PositionsWalk()
    for (let i = 0; i < count; i += 1) {
      const doc = docMap[this.#blockDocs[i] ?? 0] ?? -1
      if (doc < 0) continue
      source.readPositions(block, i, this.#blockFreqs, walk)
      this.#docs.push(doc)
      this.#freqs.push(walk.length)
      this.#starts.push(this.#positions.length)
      yield
      this.#positions.pushSome(walk.values, 0, walk.length)
      yield
    }
  }

  *write(writer: PostingsWriter, docCount: number, hasPositions: boolean): Sliced<void> {
    const order = yield* this.#order(docCount)
    const meter = new StepMeter(POSTINGS_PER_STEP)
    const docs = this.#docs.values
    const freqs = this.#freqs.values
    const starts = this.#starts.values
    const positions = this.#positions.values
    for (let i = 0; i < this.#docs.length; i += 1) {
      const at = order === undefined ? i : (order[i] ?? 0)
      const freq = freqs[at] ?? 0
      writer.add(docs[at] ?? 0, freq)
      if (!hasPositions) {
        if (meter.spend(1)) yield
        continue
      }
      const end = (starts[at] ?? 0) + freq
      // A document may have any number of positions; nearly all have few.
      for (let from = end - freq; from < end; from += POSTINGS_PER_STEP) {
        const to = Math.min(from + POSTINGS_PER_STEP, end)
        writer.addPositions(positions, from, to)
        if (meter.spend(1 + to - from)) yield
      }
    }
  }

  /** The same as `write` in one step, for few postings with few positions. */
  writeShort(writer: PostingsWriter, hasPositions: boolean): void {
    const order = shortOrder(this.#docs.values, this.#docs.length)
    const docs = this.#docs.values
    const freqs = this.#freqs.values
    const starts = this.#starts.values
    const positions = this.#positions.values
    for (let i = 0; i < this.#docs.length; i += 1) {
      const at = order === undefined ? i : (order[i] ?? 0)
      const freq = freqs[at] ?? 0
      writer.add(docs[at] ?? 0, freq)
      if (!hasPositions) continue
      const start = starts[at] ?? 0
      writer.addPositions(positions, start, start + freq)
    }
  }

  #add(doc: number, i: number, hasPositions: boolean): void {
    this.#docs.push(doc)
    this.#freqs.push(this.#blockFreqs[i] ?? 0)
    if (!hasPositions) return
    const { starts, values } = this.#block
    const positions = this.#positions
    const from = starts[i] ?? 0
    const to = starts[i + 1] ?? 0
    this.#starts.push(positions.length)
    positions.pushSome(values, from, to)
  }

  /**
   * The places of the postings in the order of documents; undefined if they are in order already.
   */
  *#order(docCount: number): Sliced<Uint32Array | undefined> {
    const docs = this.#docs.values
    const { length } = this.#docs
    if (isOrdered(docs, length)) return undefined
    const isSparse = length * SCATTER_RATIO <= docCount
    if (isSparse && length <= SORTED_MAX) return shortOrder(docs, length)
    return yield* this.#scatterOrder(docCount)
  }

  *#scatterOrder(docCount: number): Sliced<Uint32Array> {
    if (this.#slots.length < docCount) this.#slots = new Int32Array(docCount)
    const meter = new StepMeter(SCATTERED_PER_STEP)
    const slots = this.#slots
    const { length } = this.#docs
    for (let i = 0; i < length; i += 1) {
      slots[this.#docs.values[i] ?? 0] = i + 1
      if (meter.spend(1)) yield
    }
    const order = new Uint32Array(length)
    let next = 0
    for (let doc = 0; doc < docCount; doc += 1) {
      const slot = slots[doc] ?? 0
      if (meter.spend(1)) yield
      if (slot === 0) continue
      order[next] = slot - 1
      slots[doc] = 0
      next += 1
    }
    return order
  }
}

function isOrdered(docs: Uint32Array, length: number): boolean {
  for (let i = 1; i < length; i += 1) if ((docs[i - 1] ?? 0) >= (docs[i] ?? 0)) return false
  return true
}

function shortOrder(docs: Uint32Array, length: number): Uint32Array | undefined {
  if (isOrdered(docs, length)) return undefined
  if (length <= INSERTION_MAX) return insertionOrder(docs, length)
  // Both fit a double exactly: documents are below 2^27 and a short list below 2^23.
  const pairs = new Float64Array(length)
  for (let i = 0; i < length; i += 1) pairs[i] = (docs[i] ?? 0) * length + i
  pairs.sort()
  return Uint32Array.from(pairs, (pair) => pair % length)
}

function insertionOrder(docs: Uint32Array, length: number): Uint32Array {
  const order = new Uint32Array(length)
  for (let i = 0; i < length; i += 1) {
    const doc = docs[i] ?? 0
    let at = i
    while (at > 0 && (docs[order[at - 1] ?? 0] ?? 0) > doc) {
      order[at] = order[at - 1] ?? 0
      at -= 1
    }
    order[at] = i
  }
  return order
}

function sumOf(values: Uint32Array, count: number): number {
  let sum = 0
  for (let i = 0; i < count; i += 1) sum += values[i] ?? 0
  return sum
}
