import { coarseRowBytes } from '../kernels/coarse-code.ts'
import { CoarseVectors } from '../segment/coarse-vectors.ts'
import type { DenseRows } from '../segment/dense-rows.ts'
import type { VectorBlock } from '../segment/vector-block.ts'
import { RowsTail, type RowsDocument } from '../../rows/rows-tail.ts'

/** A document with the dense vector of each row, wherever they lie: the tail copies them, and keeps only its copy. */
export interface VectorDocument extends RowsDocument {
  readonly vectors: readonly Float32Array[]
}

/** Rows lie together in pieces of 128 KiB; a larger row has a piece of its own. */
const PIECE_BYTES = 128 * 1024
const NO_VECTORS = new Float32Array(0)

/** The newest documents of an index of dense vectors. A search compares with all of them, so their rows lie together. */
export class VectorTail extends RowsTail<VectorDocument> implements DenseRows {
  readonly #dimension: number
  readonly #rowsPerPiece: number
  readonly #pieces: Float32Array[] = []
  readonly isResident = true
  readonly coarse: CoarseVectors

  constructor(dimension: number) {
    super()
    this.coarse = new CoarseVectors(this, dimension)
    this.#dimension = dimension
    this.#rowsPerPiece = Math.max(1, Math.floor(PIECE_BYTES / (dimension * 4)))
  }

  override add(document: VectorDocument): number {
    const { vectors } = document
    const first = this.rowCount
    for (const [i, vector] of vectors.entries()) this.#set(first + i, vector)
    const vectorBytes = document.vectorBytes + vectors.length * coarseRowBytes(this.#dimension)
    return super.add({ ...document, vectors: [], vectorBytes })
  }

  block(row: number, count: number): VectorBlock {
    const inPiece = row % this.#rowsPerPiece
    const rowCount = Math.min(count, this.rowCount - row, this.#rowsPerPiece - inPiece)
    const vectors = this.#pieces[Math.floor(row / this.#rowsPerPiece)] ?? NO_VECTORS
    return { vectors, at: inPiece * this.#dimension, rowCount }
  }

  #set(row: number, vector: Float32Array): void {
    const inPiece = row % this.#rowsPerPiece
    if (inPiece === 0) this.#pieces.push(new Float32Array(this.#rowsPerPiece * this.#dimension))
    this.#pieces.at(-1)?.set(vector, inPiece * this.#dimension)
  }
}
