// Reading what postings-writer.ts writes. Format: docs/reference/formats/text-segment.md, "Postings".

import { BLOCK_LENGTH, packedBytes } from '../../encoding/bit-packing.ts'
import { ByteBufferReader } from '../encoding/byte-buffer.ts'
import { GrowableUint32 } from '../../encoding/growable.ts'
import { unpackFast } from './fast-unpack.ts'
import type { Impacts, PositionBlock, PositionsWalk, PostingsSource } from './postings-source.ts'
import type { SegmentInput } from '../encoding/segment-file.ts'

const END_OF_IMPACTS = 255

/** The place of a term's postings in the file. */
export interface PostingsPlace {
  readonly docFreq: number
  readonly offset: number
  readonly length: number
}

/** The places of a term's blocks, with the last document and the impacts of each. */
interface BlockTable {
  readonly lastDocs: Uint32Array
  /** The start of each block's bytes, and the end of the last block. */
  readonly blockStarts: Float64Array
  /** Empty unless the field has positions. */
  readonly positionStarts: Float64Array
  readonly impacts: Impacts
}

/**
 * The postings of one term of a segment file. It reads blocks when they are asked for and keeps
 * none of them; the segment file must stay open while it is used.
 */
export class DiskPostings implements PostingsSource {
  readonly docFreq: number
  readonly blockCount: number
  readonly #file: SegmentInput
  readonly #place: PostingsPlace
  /** Undefined for a term with less than a block, which has no description. */
  readonly #table: BlockTable | undefined
  #tailLastDocs: Uint32Array | undefined

  constructor(file: SegmentInput, place: PostingsPlace, hasPositions: boolean) {
    this.#file = file
    this.#place = place
    this.docFreq = place.docFreq
    this.blockCount = Math.ceil(place.docFreq / BLOCK_LENGTH)
    this.#table = place.docFreq < BLOCK_LENGTH ? undefined : this.#readTable(hasPositions)
  }

  get impacts(): Impacts | undefined {
    return this.#table?.impacts
  }

  /** The last document of each block. For a short term they are decoded, so only on request. */
  get lastDocs(): Uint32Array {
    if (this.#table !== undefined) return this.#table.lastDocs
    this.#tailLastDocs ??= this.#lastDocOfTail()
    return this.#tailLastDocs
  }

  decodeDocs(block: number, docs: Uint32Array): number {
    const start = this.#seekBlock(block)
    if (block * BLOCK_LENGTH + BLOCK_LENGTH > this.docFreq) return this.#decodeTail(block, docs)
    unpackFast(this.#file, start + 2, this.#file.view[start] ?? 0, docs)
    let doc = this.#lastDocBefore(block)
    for (let i = 0; i < BLOCK_LENGTH; i += 1) {
      doc += (docs[i] ?? 0) + 1
      docs[i] = doc
    }
    return BLOCK_LENGTH
  }

  decodeFreqs(block: number, freqs: Uint32Array): void {
    const start = this.#seekBlock(block)
    if (block * BLOCK_LENGTH + BLOCK_LENGTH > this.docFreq) {
      this.#decodeTail(block, undefined, freqs)
      return
    }
    const { view } = this.#file
    const at = start + 2 + packedBytes(view[start] ?? 0)
    unpackFast(this.#file, at, view[start + 1] ?? 0, freqs)
    for (let i = 0; i < BLOCK_LENGTH; i += 1) freqs[i] = (freqs[i] ?? 0) + 1
  }

  decodePositions(block: number, freqs: Uint32Array, out: PositionBlock): void {
    const count = Math.min(BLOCK_LENGTH, this.docFreq - block * BLOCK_LENGTH)
    const start = this.#positionsStart(block)
    this.#file.seek(start, this.#positionsEnd(block) - start)
    out.read({ bytes: this.#file.view, at: this.#file.at }, freqs, count)
  }

  readPositions(block: number, index: number, freqs: Uint32Array, walk: PositionsWalk): void {
    if (walk.block !== block || walk.index > index) {
      const start = this.#positionsStart(block)
      this.#file.seek(start, this.#positionsEnd(block) - start)
      walk.block = block
      walk.index = 0
      // Pages and copies do not change: the walk continues although another read has moved the file.
      walk.bytes = this.#file.view
      walk.at = this.#file.at
    }
    let skipped = 0
    for (let i = walk.index; i < index; i += 1) skipped += freqs[i] ?? 0
    walk.read(skipped, freqs[index] ?? 0)
    walk.index = index + 1
  }

  #positionsStart(block: number): number {
    if (this.#table !== undefined) return this.#table.positionStarts[block] ?? 0
    const start = this.#seekBlock(0)
    const reader = new ByteBufferReader(this.#file.view, start)
    for (let i = 0; i < this.docFreq; i += 1) if (reader.varint() % 2 === 0) reader.varint()
    return this.#place.offset + reader.at - start
  }

  #positionsEnd(block: number): number {
    if (this.#table !== undefined) return this.#table.positionStarts[block + 1] ?? 0
    return this.#place.offset + this.#place.length
  }

  #seekBlock(block: number): number {
    if (this.#table === undefined) {
      this.#file.seek(this.#place.offset, this.#place.length)
      return this.#file.at
    }
    const { blockStarts } = this.#table
    const start = blockStarts[block] ?? 0
    this.#file.seek(start, (blockStarts[block + 1] ?? 0) - start)
    return this.#file.at
  }

  #lastDocBefore(block: number): number {
    return block === 0 ? -1 : (this.#table?.lastDocs[block - 1] ?? -1)
  }

  /** Decodes the last block, which is shorter than the others, after `#seekBlock`. */
  #decodeTail(block: number, docs?: Uint32Array, freqs?: Uint32Array): number {
    const reader = new ByteBufferReader(this.#file.view, this.#file.at)
    const count = this.docFreq - block * BLOCK_LENGTH
    let doc = this.#lastDocBefore(block)
    for (let i = 0; i < count; i += 1) {
      const value = reader.varint()
      const freq = value % 2 === 1 ? 1 : reader.varint()
      doc += Math.floor(value / 2) + 1
      if (docs !== undefined) docs[i] = doc
      if (freqs !== undefined) freqs[i] = freq
    }
    return count
  }

  #lastDocOfTail(): Uint32Array {
    const docs = new Uint32Array(BLOCK_LENGTH)
    const count = this.decodeDocs(0, docs)
    return docs.slice(count - 1, count)
  }

  #readTable(hasPositions: boolean): BlockTable {
    const { blockCount } = this
    const { offset, length } = this.#place
    this.#file.seek(offset, Math.min(length, 8))
    const head = new ByteBufferReader(this.#file.view, this.#file.at)
    const metaBytes = head.varint()
    const metaAt = offset + head.at - this.#file.at
    this.#file.seek(metaAt, metaBytes)
    const reader = new ByteBufferReader(this.#file.view, this.#file.at)
    const lastDocs = new Uint32Array(blockCount)
    const blockStarts = new Float64Array(blockCount + 1)
    const positionStarts = new Float64Array(hasPositions ? blockCount + 1 : 0)
    const impacts = new ImpactsBuilder(blockCount)
    let doc = -1
    let start = metaAt + metaBytes
    let positions = 0
    for (let block = 0; block < blockCount; block += 1) {
      doc += reader.varint()
      lastDocs[block] = doc
      blockStarts[block] = start
      start += reader.varint()
      if (hasPositions) positionStarts[block] = positions
      if (hasPositions) positions += reader.varint()
      impacts.readBlock(block, reader)
    }
    blockStarts[blockCount] = start
    if (hasPositions) positionStarts[blockCount] = positions
    for (let i = 0; i < positionStarts.length; i += 1) {
      positionStarts[i] = (positionStarts[i] ?? 0) + start
    }
    return { lastDocs, blockStarts, positionStarts, impacts: impacts.build() }
  }
}

class ImpactsBuilder {
  readonly #starts: Uint32Array
  readonly #freqs = new GrowableUint32()
  readonly #norms = new GrowableUint32()

  constructor(blockCount: number) {
    this.#starts = new Uint32Array(blockCount + 1)
  }

  readBlock(block: number, reader: ByteBufferReader): void {
    for (let freq = reader.byte(); freq !== END_OF_IMPACTS; freq = reader.byte()) {
      this.#freqs.push(freq)
      this.#norms.push(reader.byte())
    }
    this.#starts[block + 1] = this.#freqs.length
  }

  build(): Impacts {
    const freqs = Float64Array.from(this.#freqs.values.subarray(0, this.#freqs.length), (freq) =>
      freq === 0 ? Number.MAX_SAFE_INTEGER : freq,
    )
    return {
      starts: this.#starts,
      freqs,
      norms: Uint8Array.from(this.#norms.values.subarray(0, this.#norms.length)),
    }
  }
}
