// Writes the postings of one segment, term after term. Format: docs/reference/formats/sparse-segment.md.
//
//   postings ─► block of 128 ─► chunk ─► out
//                     └─► table of the term ─► out       entries of 128 terms ─► out ─► directory, at the end

import { crc32 } from 'node:zlib'
import { assert } from '../../../../lib/assert.ts'
import type { Paced } from '../../../../lib/sliced.ts'
import { BLOCK_LENGTH, bitsOf, packBlock, packedBytes } from '../../encoding/bit-packing.ts'
import type { PostingsOutput } from './postings-bytes.ts'
import {
  BLOCK_ENTRY_BYTES,
  DIRECTORY_ENTRY_BYTES,
  ENTRY_BYTES,
  FOOTER_BYTES,
  POSTINGS_MAGIC,
  POSTINGS_VERSION,
  POSTING_BYTES,
  SUM_BYTES,
  TERMS_PER_BLOCK,
  WEIGHT_BYTES,
  type PostingsSum,
} from './postings-format.ts'

interface WrittenBlock {
  readonly lastRow: number
  readonly max: number
  /** Counted from the beginning of the term. */
  readonly end: number
}

interface DirectoryEntry {
  readonly at: number
  readonly firstTerm: number
  readonly sum: number
}

/** `add` the postings of a term by ascending rows, then `endTerm`; terms ascend; then `finish`. */
export class SparsePostingsWriter {
  readonly #out: PostingsOutput
  readonly #chunkSize: number
  readonly #rows = new Uint32Array(BLOCK_LENGTH)
  readonly #weights = new Float32Array(BLOCK_LENGTH)
  readonly #deltas = new Uint32Array(BLOCK_LENGTH)
  readonly #chunk: Uint8Array
  readonly #entries = new DataView(new ArrayBuffer(TERMS_PER_BLOCK * ENTRY_BYTES))
  readonly #directory: DirectoryEntry[] = []
  #blocks: WrittenBlock[] = []
  #sums: number[] = []
  #inBlock = 0
  #inChunk = 0
  #chunkBytes = 0
  #termStart = 0
  #termBytes = 0
  #lastRow = -1
  #lastTerm = -1
  #count = 0
  #entryCount = 0
  #firstTerm = 0
  #termCount = 0
  #postingCount = 0
  #at = 0

  /** `chunkSize`: the postings that are read at once. */
  constructor(out: PostingsOutput, chunkSize: number) {
    this.#out = out
    this.#chunkSize = chunkSize
    this.#chunk = new Uint8Array(chunkSize * POSTING_BYTES)
  }

  /** Whether `flushChunk` has to come before the next posting. */
  get isChunkFull(): boolean {
    return this.#inChunk === this.#chunkSize
  }

  /** The weight is above 0. */
  add(row: number, weight: number): void {
    if (this.#count === 0) this.#termStart = this.#at
    this.#rows[this.#inBlock] = row
    this.#weights[this.#inBlock] = weight
    this.#inBlock += 1
    this.#inChunk += 1
    this.#count += 1
    if (this.#inBlock === BLOCK_LENGTH || this.isChunkFull) this.#endBlock()
  }

  *flushChunk(): Paced<void> {
    const bytes = this.#chunk.subarray(0, this.#chunkBytes)
    this.#sums.push(crc32(bytes))
    this.#chunkBytes = 0
    this.#inChunk = 0
    yield* this.#write(bytes)
  }

  /** A term without postings is left out. */
  *endTerm(term: number): Paced<void> {
    if (this.#count === 0) return
    if (this.#inBlock > 0) this.#endBlock()
    if (this.#inChunk > 0) yield* this.flushChunk()
    const table = this.#table()
    this.#addEntry(term, crc32(table))
    yield* this.#write(table)
    this.#clearTerm()
    if (this.#entryCount === TERMS_PER_BLOCK) yield* this.#endEntries()
  }

  *finish(): Paced<PostingsSum> {
    if (this.#entryCount > 0) yield* this.#endEntries()
    const directoryAt = this.#at
    const bytes = new Uint8Array(this.#directory.length * DIRECTORY_ENTRY_BYTES + FOOTER_BYTES)
    const view = new DataView(bytes.buffer)
    for (const [i, { at, firstTerm, sum }] of this.#directory.entries()) {
      view.setFloat64(i * DIRECTORY_ENTRY_BYTES, at, true)
      view.setUint32(i * DIRECTORY_ENTRY_BYTES + 8, firstTerm, true)
      view.setUint32(i * DIRECTORY_ENTRY_BYTES + 12, sum, true)
    }
    const footer = bytes.length - FOOTER_BYTES
    const words = [POSTINGS_MAGIC, POSTINGS_VERSION, this.#chunkSize, this.#termCount]
    for (const [i, word] of words.entries()) view.setUint32(footer + i * 4, word, true)
    view.setFloat64(footer + 16, this.#postingCount, true)
    view.setFloat64(footer + 24, directoryAt, true)
    yield* this.#write(bytes)
    return { bytes: this.#at, directoryAt, sum: crc32(bytes) }
  }

  #endBlock(): void {
    const count = this.#inBlock
    this.#assertAscending()
    const size = count === BLOCK_LENGTH ? this.#packRows() : this.#copyRows()
    const weightsAt = this.#chunkBytes + size
    const weights = new Uint8Array(this.#weights.buffer, 0, count * WEIGHT_BYTES)
    this.#chunk.set(weights, weightsAt)
    this.#chunkBytes = weightsAt + weights.length
    this.#termBytes += size + weights.length
    this.#lastRow = this.#rows[count - 1] ?? 0
    const max = this.#weights.subarray(0, count).reduce((most, one) => Math.max(most, one), 0)
    this.#blocks.push({ lastRow: this.#lastRow, max, end: this.#termBytes })
    this.#inBlock = 0
  }

  /** Cursors halve the rows of a block, and the blocks of a term. */
  #assertAscending(): void {
    let last = this.#lastRow
    for (let i = 0; i < this.#inBlock; i += 1) {
      const row = this.#rows[i] ?? 0
      assert(row > last, 'the rows of a term ascend')
      last = row
    }
  }

  #packRows(): number {
    let last = this.#lastRow
    for (let i = 0; i < BLOCK_LENGTH; i += 1) {
      const row = this.#rows[i] ?? 0
      this.#deltas[i] = row - last - 1
      last = row
    }
    const bits = bitsOf(this.#deltas)
    packBlock(this.#deltas, bits, this.#chunk, this.#chunkBytes)
    return packedBytes(bits)
  }

  #copyRows(): number {
    const bytes = new Uint8Array(this.#rows.buffer, 0, this.#inBlock * 4)
    this.#chunk.set(bytes, this.#chunkBytes)
    return bytes.length
  }

  #table(): Uint8Array {
    const blocks = this.#blocks
    const bytes = new Uint8Array(blocks.length * BLOCK_ENTRY_BYTES + this.#sums.length * SUM_BYTES)
    const view = new DataView(bytes.buffer)
    for (const [i, { lastRow, max, end }] of blocks.entries()) {
      view.setUint32(i * BLOCK_ENTRY_BYTES, lastRow, true)
      view.setFloat32(i * BLOCK_ENTRY_BYTES + 4, max, true)
      view.setUint32(i * BLOCK_ENTRY_BYTES + 8, end, true)
    }
    const sumsAt = blocks.length * BLOCK_ENTRY_BYTES
    for (const [i, sum] of this.#sums.entries()) view.setUint32(sumsAt + i * SUM_BYTES, sum, true)
    return bytes
  }

  #addEntry(term: number, sum: number): void {
    const at = this.#entryCount * ENTRY_BYTES
    const max = this.#blocks.reduce((most, block) => Math.max(most, block.max), 0)
    assert(term > this.#lastTerm, 'the terms of a segment ascend')
    this.#lastTerm = term
    if (this.#entryCount === 0) this.#firstTerm = term
    this.#entries.setUint32(at, term, true)
    this.#entries.setUint32(at + 4, this.#count, true)
    this.#entries.setFloat64(at + 8, this.#termStart, true)
    this.#entries.setUint32(at + 16, this.#termBytes, true)
    this.#entries.setUint32(at + 20, sum, true)
    this.#entries.setFloat32(at + 24, max, true)
    this.#entryCount += 1
    this.#termCount += 1
    this.#postingCount += this.#count
  }

  #clearTerm(): void {
    this.#blocks = []
    this.#sums = []
    this.#termBytes = 0
    this.#lastRow = -1
    this.#count = 0
  }

  *#endEntries(): Paced<void> {
    const bytes = new Uint8Array(this.#entries.buffer, 0, this.#entryCount * ENTRY_BYTES)
    this.#directory.push({ at: this.#at, firstTerm: this.#firstTerm, sum: crc32(bytes) })
    this.#entryCount = 0
    yield* this.#write(bytes)
  }

  *#write(bytes: Uint8Array): Paced<void> {
    this.#at += bytes.length
    yield* this.#out.write(bytes)
  }
}
