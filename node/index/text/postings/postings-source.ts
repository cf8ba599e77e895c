import { ByteBufferReader } from '../encoding/byte-buffer.ts'

const NO_BYTES = new Uint8Array(0)

/** The positions of one block's documents. Entry i has those from starts[i] to starts[i + 1]. */
export class PositionBlock {
  readonly starts = new Uint32Array(129)
  values = new Uint32Array(256)

  /** Makes room for `count` values in all. */
  reserve(count: number): void {
    if (count <= this.values.length) return
    const larger = new Uint32Array(Math.max(count, this.values.length * 2))
    larger.set(this.values)
    this.values = larger
  }

  /**
   * Reads the positions of `count` documents with these frequencies, each as differences. Most
   * differences are one byte, and phrases spend their time here.
   */
  read({ bytes, at: from }: BytesAt, freqs: Uint32Array, count: number): void {
    let total = 0
    for (let i = 0; i < count; i += 1) total += freqs[i] ?? 0
    this.reserve(total)
    const { starts, values } = this
    let at = from
    let length = 0
    for (let i = 0; i < count; i += 1) {
      starts[i] = length
      const end = length + (freqs[i] ?? 0)
      let position = 0
      for (; length < end; length += 1) {
        const byte = bytes[at] ?? 0
        at += 1
        position += byte & 0x7f
        if (byte >= 0x80) {
          const next = readRest(bytes, at)
          position += next.value
          at = next.at
        }
        values[length] = position
      }
    }
    starts[count] = length
  }
}

/**
 * A walk through the positions of a block's documents. It holds the positions of the last read
 * document.
 */
export class PositionsWalk {
  /** The place of the walk: entry `index` of `block` is the next, and it begins at `bytes[at]`. */
  block = -1
  index = 0
  bytes: Uint8Array = NO_BYTES
  at = 0
  values = new Uint32Array(16)
  length = 0

  /** Skips `skipped` numbers and reads `count` positions. */
  read(skipped: number, count: number): void {
    const { bytes } = this
    let { at } = this
    for (let left = skipped; left > 0; at += 1) if ((bytes[at] ?? 0) < 0x80) left -= 1
    this.reserve(count)
    const { values } = this
    let position = 0
    for (let i = 0; i < count; i += 1) {
      const byte = bytes[at] ?? 0
      at += 1
      position += byte & 0x7f
      if (byte >= 0x80) {
        const next = readRest(bytes, at)
        position += next.value
        at = next.at
      }
      values[i] = position
    }
    this.length = count
    this.at = at
  }

  reserve(count: number): void {
    if (count > this.values.length) this.values = new Uint32Array(count * 2)
  }
}

/** The higher bits of a varint whose first byte has been taken. */
function readRest(
  bytes: Uint8Array,
  from: number,
): { readonly value: number; readonly at: number } {
  const reader = new ByteBufferReader(bytes, from)
  return { value: reader.varint() * 0x80, at: reader.at }
}

/** Bytes, and the place from which they are read. */
export interface BytesAt {
  readonly bytes: Uint8Array
  readonly at: number
}

/**
 * The pairs of frequency and field norm that bound each block: under any statistics, no document of
 * block `b` scores more than the best of the pairs from starts[b] to starts[b + 1].
 */
export interface Impacts {
  readonly starts: Uint32Array
  readonly freqs: Float64Array
  readonly norms: Uint8Array
}

/**
 * The postings of one term in one segment, in blocks of 128 documents (the last may be shorter).
 * Documents ascend. A source keeps no place: cursors do, so that several may share one.
 */
export interface PostingsSource {
  readonly docFreq: number
  readonly blockCount: number
  /** The last document of each block. */
  readonly lastDocs: Uint32Array
  /** The impacts of each block. Undefined means that any block may hold the best score. */
  readonly impacts: Impacts | undefined
  /** Decodes the documents of a block, and returns their number. */
  decodeDocs(block: number, docs: Uint32Array): number
  decodeFreqs(block: number, freqs: Uint32Array): void
  /** Only for text fields. `freqs` are the frequencies of the block's documents. */
  decodePositions(block: number, freqs: Uint32Array, out: PositionBlock): void
  /** The positions of one entry. `walk` belongs to this source and moves from entry to entry. */
  readPositions(block: number, index: number, freqs: Uint32Array, walk: PositionsWalk): void
}
