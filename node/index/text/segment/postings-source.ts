import type { ByteReader } from './byte-buffer.ts'

/** The positions of the documents of one block: those of entry i from starts[i] to starts[i + 1]. */
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

  /** Reads the positions of `count` documents with these frequencies, each as differences. */
  read(reader: ByteReader, freqs: Uint32Array, count: number): void {
    let length = 0
    for (let i = 0; i < count; i += 1) {
      const freq = freqs[i] ?? 0
      this.starts[i] = length
      this.reserve(length + freq)
      let position = 0
      for (let j = 0; j < freq; j += 1) {
        position += reader.varint()
        this.values[length] = position
        length += 1
      }
    }
    this.starts[count] = length
  }
}

/**
 * The frequencies and field norms that matter in each block: no document of block `b` scores more
 * than the best of the pairs from starts[b] to starts[b + 1], whatever the statistics are.
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
  /** Undefined: nothing is known, any block may hold the best score there is. */
  readonly impacts: Impacts | undefined
  /** Answers how many documents the block has. */
  decodeDocs(block: number, docs: Uint32Array): number
  decodeFreqs(block: number, freqs: Uint32Array): void
  /** Of a text field only. `freqs` are those of the block, `count` its documents. */
  decodePositions(block: number, freqs: Uint32Array, out: PositionBlock): void
}
