import { BLOCK_LENGTH } from './bit-packing.ts'
import { GrowableUint32 } from '../segment/growable.ts'
import { PositionBlock, type PostingsSource } from './postings-source.ts'
import type { PostingsWriter } from './postings-writer.ts'

const INSERTION_MAX = 24
/** Lists longer than the documents divided by this are ordered by scattering, not by sorting. */
const SCATTER_RATIO = 16
const BLOCKS_PER_SLICE = 32

interface PostingsRun {
  readonly from: number
  readonly to: number
  readonly order: Uint32Array | undefined
  readonly hasPositions: boolean
}

/** One term's postings from several segments, brought into the order of the new documents. */
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

  /** `docMap` holds the new document of each, -1 for one left out. */
  *gather(
    source: PostingsSource,
    docMap: Int32Array,
    hasPositions: boolean,
  ): Generator<void, void> {
    for (let block = 0; block < source.blockCount; block += 1) {
      this.gatherBlock(source, block, { docMap, hasPositions })
      if (block % BLOCKS_PER_SLICE === BLOCKS_PER_SLICE - 1) yield
    }
  }

  gatherBlock(
    source: PostingsSource,
    block: number,
    { docMap, hasPositions }: { readonly docMap: Int32Array; readonly hasPositions: boolean },
  ): void {
    const count = source.decodeDocs(block, this.#blockDocs)
    source.decodeFreqs(block, this.#blockFreqs)
    if (hasPositions) source.decodePositions(block, this.#blockFreqs, this.#block)
    for (let i = 0; i < count; i += 1) {
      const doc = docMap[this.#blockDocs[i] ?? 0] ?? -1
      if (doc >= 0) this.#add(doc, i, hasPositions)
    }
  }

  *write(writer: PostingsWriter, docCount: number, hasPositions: boolean): Generator<void, void> {
    const order = this.#order(docCount)
    const slice = BLOCK_LENGTH * BLOCKS_PER_SLICE
    for (let from = 0; from < this.#docs.length; from += slice) {
      if (from > 0) yield
      const to = Math.min(from + slice, this.#docs.length)
      this.#writeSome(writer, { from, to, order, hasPositions })
    }
  }

  /** As `write`, for a list that needs no slices. */
  writeShort(writer: PostingsWriter, docCount: number, hasPositions: boolean): void {
    const order = this.#order(docCount)
    this.#writeSome(writer, { from: 0, to: this.#docs.length, order, hasPositions })
  }

  #writeSome(writer: PostingsWriter, { from, to, order, hasPositions }: PostingsRun): void {
    const docs = this.#docs.values
    const freqs = this.#freqs.values
    const starts = this.#starts.values
    const positions = this.#positions.values
    for (let i = from; i < to; i += 1) {
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
    const to = starts[i + 1] ?? 0
    this.#starts.push(positions.length)
    for (let at = starts[i] ?? 0; at < to; at += 1) positions.push(values[at] ?? 0)
  }

  /** Where the postings are found in order of documents; undefined if they are in order. */
  #order(docCount: number): Uint32Array | undefined {
    const docs = this.#docs.values
    const { length } = this.#docs
    let isOrdered = true
    for (let i = 1; i < length && isOrdered; i += 1) isOrdered = (docs[i - 1] ?? 0) < (docs[i] ?? 0)
    if (isOrdered) return undefined
    if (length <= INSERTION_MAX) return insertionOrder(docs, length)
    if (length * SCATTER_RATIO > docCount) return this.#scatterOrder(docCount)
    // Both fit a double exactly: documents are below 2^27 and a short list below 2^23.
    const pairs = new Float64Array(length)
    for (let i = 0; i < length; i += 1) pairs[i] = (docs[i] ?? 0) * length + i
    pairs.sort()
    return Uint32Array.from(pairs, (pair) => pair % length)
  }

  #scatterOrder(docCount: number): Uint32Array {
    if (this.#slots.length < docCount) this.#slots = new Int32Array(docCount)
    const slots = this.#slots
    const { length } = this.#docs
    for (let i = 0; i < length; i += 1) slots[this.#docs.values[i] ?? 0] = i + 1
    const order = new Uint32Array(length)
    let next = 0
    for (let doc = 0; doc < docCount; doc += 1) {
      const slot = slots[doc] ?? 0
      if (slot === 0) continue
      order[next] = slot - 1
      slots[doc] = 0
      next += 1
    }
    return order
  }
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
