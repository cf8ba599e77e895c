import { closeSync, openSync } from 'node:fs'
import { readExactly } from '../../rows/file-sums.ts'
import type { RowSource } from '../lists/lists-builder.ts'

/** Rows that are read at once while they are wanted one behind the other. */
const ROWS_READ = 64

/** The vectors of a segment that was just written: nothing verifies them. */
export class FileRows implements RowSource, Disposable {
  readonly rowCount: number
  readonly #fd: number
  readonly #path: string
  readonly #dimension: number
  readonly #buffer: Float32Array<ArrayBuffer>
  #first = 0
  #end = 0

  constructor(path: string, { dimension, rowCount }: Record<'dimension' | 'rowCount', number>) {
    this.rowCount = rowCount
    this.#path = path
    this.#dimension = dimension
    this.#buffer = new Float32Array(ROWS_READ * dimension)
    this.#fd = openSync(path, 'r')
  }

  row(row: number): { readonly vectors: Float32Array; readonly at: number } {
    if (row < this.#first || row >= this.#end) this.#read(row)
    return { vectors: this.#buffer, at: (row - this.#first) * this.#dimension }
  }

  [Symbol.dispose](): void {
    closeSync(this.#fd)
  }

  #read(row: number): void {
    const isNext = row === this.#end
    const count = isNext ? Math.min(ROWS_READ, this.rowCount - row) : 1
    const rowBytes = this.#dimension * 4
    const bytes = new Uint8Array(this.#buffer.buffer, 0, count * rowBytes)
    readExactly(this.#fd, bytes, row * rowBytes, this.#path)
    this.#first = row
    this.#end = row + count
  }
}
