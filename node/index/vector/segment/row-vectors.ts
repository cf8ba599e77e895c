// The exact vectors of a segment: rows of 32-bit numbers one behind the other, in a file or in memory. They
// are read from the file when they are wanted, because all of them together may be larger than memory.

import { closeSync, fstatSync } from 'node:fs'
import { crc32 } from 'node:zlib'
import { StepMeter, type Sliced } from '../../../../lib/sliced.ts'
import type { VectorBlock } from './vector-block.ts'
import { damaged, openFile, readExactly } from '../../rows/file-sums.ts'
import { BLOCK_BYTES, type BlockMemory } from '../files/block-memory.ts'

/**
 * Vectors beside a graph may have half of the memory. The rest is for codes, a quarter as long, of which a search
 * compares many more.
 */
const GRAPH_VECTORS_SHARE = 0.5
/** Rows in memory that are answered together. */
const ROWS_KNOWN_MAX = 256

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
  readonly isResident: boolean
  block(row: number, count: number): VectorBlock
  close(): void
}

/** Where a file of vectors is, and what it is read into. */
export interface VectorsFile {
  readonly path: string
  readonly name: string
  readonly memory: BlockMemory
  /** Whether a search compares with all vectors, for lack of a graph and lists: they come first in memory. */
  readonly isScanned: boolean
}

/** In a file. */
export class FileVectors implements RowVectors {
  readonly bytesOnDisk: number
  readonly #fd: number
  readonly #name: string
  readonly #shape: VectorShape
  readonly #memory: BlockMemory
  readonly #share: number
  /** Room for all rows, filled with those that were read; undefined if memory had no room. */
  #resident: Float32Array<ArrayBuffer> | undefined
  /** The rows that were read, and found right, since the opening. */
  readonly #verified: Uint32Array

  /** CORRUPTION if the file is missing or has another length. */
  constructor({ path, name, memory, isScanned }: VectorsFile, shape: VectorShape) {
    this.#share = isScanned ? 1 : GRAPH_VECTORS_SHARE
    this.#shape = shape
    this.#name = name
    this.#memory = memory
    this.#fd = openFile(path, name)
    this.bytesOnDisk = shape.rowCount * shape.dimension * 4
    if (fstatSync(this.#fd).size !== this.bytesOnDisk) {
      closeSync(this.#fd)
      throw damaged(`${name} has another length`)
    }
    this.#verified = new Uint32Array((shape.rowCount + 31) >>> 5)
  }

  get bytesInMemory(): number {
    return this.#verified.byteLength + (this.#resident?.byteLength ?? 0)
  }

  /** It becomes so when there is room: segments that were merged away give theirs back. */
  get isResident(): boolean {
    if (this.#resident === undefined && this.#memory.reserve(this.bytesOnDisk, this.#share)) {
      this.#resident = new Float32Array(this.bytesOnDisk / 4)
      this.#verified.fill(0)
    }
    return this.#resident !== undefined
  }

  block(row: number, count: number): VectorBlock {
    const { dimension } = this.#shape
    const resident = this.isResident ? this.#resident : undefined
    const known = resident === undefined ? 0 : this.#verifiedFrom(row, count)
    if (resident !== undefined && known > 0) {
      this.#memory.hits += known
      return { vectors: resident, at: row * dimension, rowCount: known }
    }
    const rowCount = Math.min(count, Math.max(1, Math.floor(BLOCK_BYTES / (dimension * 4))))
    this.#memory.misses += rowCount
    const vectors = resident ?? this.#memory.bufferOf(rowCount * dimension)
    const at = resident === undefined ? 0 : row * dimension
    const bytes = new Uint8Array(vectors.buffer, at * 4, rowCount * dimension * 4)
    readExactly(this.#fd, bytes, row * dimension * 4, this.#name)
    this.#verify(bytes, row, rowCount)
    return { vectors, at, rowCount }
  }

  close(): void {
    closeSync(this.#fd)
    if (this.#resident !== undefined) this.#memory.giveBack(this.bytesOnDisk)
  }

  /** How many rows from this one on were verified, up to a block of them. */
  #verifiedFrom(row: number, count: number): number {
    const end = row + Math.min(count, ROWS_KNOWN_MAX)
    let at = row
    while (at < end && ((this.#verified[at >>> 5] ?? 0) >>> (at & 31)) & 1) at += 1
    return at - row
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
  readonly isResident = true
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
