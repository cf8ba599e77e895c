// The exact vectors of a segment: rows of 32-bit numbers one behind the other, in a file or in memory. They
// are read from the file when they are wanted, because all of them together may be larger than memory.

import { closeSync, fstatSync } from 'node:fs'
import { crc32 } from 'node:zlib'
import { StepMeter, type Sliced } from '../../../../lib/sliced.ts'
import type { VectorBlock } from './document-rows.ts'
import { damaged, openFile, readExactly } from '../files/file-sums.ts'

/** Some tens of microseconds to read, some hundreds to compare with. */
const BLOCK_BYTES = 128 * 1024

/** What the segment's table says about its vectors. */
export interface VectorShape {
  readonly dimension: number
  readonly rowCount: number
  /** The CRC-32 of each row. */
  readonly sums: Uint32Array
}

/** See `DocumentRows.block`. */
export interface RowVectors {
  readonly bytesOnDisk: number
  readonly bytesInMemory: number
  block(row: number, count: number): VectorBlock
  close(): void
}

/** Where the segments of a worker read blocks: a step compares with a block before the next one is read. */
export class BlockBuffer {
  #floats = new Float32Array(BLOCK_BYTES / 4)

  atLeast(length: number): Float32Array<ArrayBuffer> {
    if (this.#floats.length < length) this.#floats = new Float32Array(length)
    return this.#floats
  }
}

/** Where a file of vectors is, and what it is read into. */
export interface VectorsFile {
  readonly path: string
  readonly name: string
  readonly buffer: BlockBuffer
}

/** In a file. */
export class FileVectors implements RowVectors {
  readonly bytesOnDisk: number
  readonly bytesInMemory: number
  readonly #fd: number
  readonly #name: string
  readonly #shape: VectorShape
  readonly #buffer: BlockBuffer
  /** The rows that were read, and found right, since the opening. */
  readonly #verified: Uint32Array

  /** CORRUPTION if the file is missing or has another length. */
  constructor({ path, name, buffer }: VectorsFile, shape: VectorShape) {
    this.#shape = shape
    this.#name = name
    this.#buffer = buffer
    this.#fd = openFile(path, name)
    this.bytesOnDisk = shape.rowCount * shape.dimension * 4
    if (fstatSync(this.#fd).size !== this.bytesOnDisk) {
      closeSync(this.#fd)
      throw damaged(`${name} has another length`)
    }
    this.#verified = new Uint32Array((shape.rowCount + 31) >>> 5)
    this.bytesInMemory = this.#verified.byteLength
  }

  block(row: number, count: number): VectorBlock {
    const { dimension } = this.#shape
    const rowCount = Math.min(count, Math.max(1, Math.floor(BLOCK_BYTES / (dimension * 4))))
    const length = rowCount * dimension
    const vectors = this.#buffer.atLeast(length)
    const bytes = new Uint8Array(vectors.buffer, 0, length * 4)
    readExactly(this.#fd, bytes, row * dimension * 4, this.#name)
    this.#verify(bytes, row, rowCount)
    return { vectors, at: 0, rowCount }
  }

  close(): void {
    closeSync(this.#fd)
  }

  #verify(bytes: Uint8Array, first: number, rowCount: number): void {
    const rowBytes = this.#shape.dimension * 4
    for (let i = 0; i < rowCount; i += 1) {
      const row = first + i
      const [word, bit] = [row >>> 5, 1 << (row & 31)]
      if (((this.#verified[word] ?? 0) & bit) !== 0) continue
      const sum = crc32(bytes.subarray(i * rowBytes, (i + 1) * rowBytes))
      if (sum !== this.#shape.sums[row]) throw damaged(`${this.#name} is damaged`)
      this.#verified[word] = (this.#verified[word] ?? 0) | bit
    }
  }
}

/** Vectors of an index that has no files. */
class MemoryVectors implements RowVectors {
  readonly bytesOnDisk = 0
  readonly bytesInMemory: number
  readonly #dimension: number
  readonly #vectors: Float32Array

  constructor(dimension: number, vectors: Float32Array) {
    this.#dimension = dimension
    this.#vectors = vectors
    this.bytesInMemory = vectors.byteLength
  }

  block(row: number, count: number): VectorBlock {
    return { vectors: this.#vectors, at: row * this.#dimension, rowCount: count }
  }

  close(): void {}
}

/** Gathers the vectors of a segment that stays in memory. */
export class KeptVectors {
  readonly #parts: Float32Array[] = [];

  *add(vectors: Float32Array): Sliced<void> {
    this.#parts.push(vectors)
    yield
  }

  *join({ dimension, rowCount }: Pick<VectorShape, 'dimension' | 'rowCount'>): Sliced<RowVectors> {
    const joined = new Float32Array(rowCount * dimension)
    const meter = new StepMeter(COPIED_PER_STEP)
    let at = 0
    for (const part of this.#parts) {
      joined.set(part, at)
      at += part.length
      if (meter.spend(part.length)) yield
    }
    return new MemoryVectors(dimension, joined)
  }
}

/** Numbers. */
const COPIED_PER_STEP = 2 ** 18
