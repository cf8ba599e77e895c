import { coarseRowBytes, coarseStrideOf, encodeCoarsely, FACTS } from '../kernels/coarse-code.ts'
import type { CoarseBlock } from '../kernels/coarse-code.ts'
import type { RowBlocks } from './vector-block.ts'

/** Codes lie together in pieces of 32 KiB, or one longer row: a piece is made in a tenth of a millisecond. */
const PIECE_BYTES = 32 * 1024

interface Piece {
  readonly codes: Uint8Array
  readonly facts: Float64Array
  /** How many rows of the block are read. */
  count: number
}

/** A block, and what was done for it. */
export interface ReadBlock extends CoarseBlock {
  /** The rows that were read and encoded first. */
  readonly encoded: number
}

/**
 * The rows of a part in 7 bits a number, made as a search needs them. Rows may be added behind the last one; the others
 * never change.
 */
export class CoarseVectors {
  readonly #rows: RowBlocks
  readonly #dimension: number
  readonly #rowsPerPiece: number
  readonly #pieces: (Piece | undefined)[] = []

  constructor(rows: RowBlocks, dimension: number) {
    this.#rows = rows
    this.#dimension = dimension
    this.#rowsPerPiece = Math.max(1, Math.floor(PIECE_BYTES / coarseRowBytes(dimension)))
  }

  /** The rows from `row` on that lie together: at least one, at most `count`. */
  block(row: number, count: number): ReadBlock {
    const number = Math.floor(row / this.#rowsPerPiece)
    const at = row - number * this.#rowsPerPiece
    const piece = (this.#pieces[number] ??= this.#newPiece())
    const encoded = at < piece.count ? 0 : this.#fill(piece, number)
    const { codes, facts } = piece
    return { codes, facts, at, rowCount: Math.min(count, piece.count - at), encoded }
  }

  /** Encodes all rows of a piece that are not there. */
  #fill(piece: Piece, number: number): number {
    const first = number * this.#rowsPerPiece
    const end = Math.min(this.#rowsPerPiece, this.#rows.rowCount - first)
    const before = piece.count
    while (piece.count < end) {
      const { vectors, at, rowCount } = this.#rows.block(first + piece.count, end - piece.count)
      for (let i = 0; i < rowCount; i += 1) {
        const placed = { vectors, at: at + i * this.#dimension, dimension: this.#dimension }
        encodeCoarsely(placed, piece, piece.count + i)
      }
      piece.count += rowCount
    }
    return piece.count - before
  }

  #newPiece(): Piece {
    const rows = this.#rowsPerPiece
    return {
      codes: new Uint8Array(rows * coarseStrideOf(this.#dimension)),
      facts: new Float64Array(rows * FACTS),
      count: 0,
    }
  }
}
