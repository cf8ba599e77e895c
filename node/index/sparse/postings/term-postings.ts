import { must } from '../../../../lib/assert.ts'
import { BLOCK_LENGTH, unpackBlock } from '../../encoding/bit-packing.ts'
import type { PostingsBytes } from './postings-bytes.ts'
import { BLOCK_ENTRY_BYTES, SUM_BYTES, WEIGHT_BYTES } from './postings-format.ts'

/** What the dictionary says of a term. */
export interface TermEntry {
  readonly term: number
  /** How many rows have it. */
  readonly count: number
  /** Where its chunks begin, and how many bytes they have; its table is behind them. */
  readonly start: number
  readonly bytes: number
  readonly tableSum: number
  /** No row has it with more weight. */
  readonly max: number
}

/**
 * The rows that have a term, with their weights, in blocks of at most 128. It keeps no place: cursors do, so that
 * several may share one.
 */
export class TermPostings {
  readonly count: number
  readonly max: number
  readonly blockCount: number
  readonly #source: PostingsBytes
  readonly #entry: TermEntry
  readonly #chunkSize: number
  readonly #blocksPerChunk: number
  readonly #table: DataView

  constructor(source: PostingsBytes, entry: TermEntry, chunkSize: number) {
    this.#source = source
    this.#entry = entry
    this.#chunkSize = chunkSize
    this.#blocksPerChunk = Math.ceil(chunkSize / BLOCK_LENGTH)
    this.count = entry.count
    this.max = entry.max
    const wholeChunks = Math.floor(entry.count / chunkSize)
    const rest = entry.count - wholeChunks * chunkSize
    this.blockCount = wholeChunks * this.#blocksPerChunk + Math.ceil(rest / BLOCK_LENGTH)
    const bytes = source.read({
      at: entry.start + entry.bytes,
      bytes: this.blockCount * BLOCK_ENTRY_BYTES + this.#chunkCount * SUM_BYTES,
      sum: entry.tableSum,
    })
    this.#table = new DataView(bytes.buffer, bytes.byteOffset, bytes.length)
  }

  get #chunkCount(): number {
    return Math.ceil(this.count / this.#chunkSize)
  }

  lastRowOf(block: number): number {
    return this.#table.getUint32(block * BLOCK_ENTRY_BYTES, true)
  }

  /** No row of the block has more weight. */
  maxOf(block: number): number {
    return this.#table.getFloat32(block * BLOCK_ENTRY_BYTES + 4, true)
  }

  /** Reads the rows of a block into `rows`; their weights are the answer, and as many as there are rows. */
  readBlock(block: number, rows: Uint32Array): Float32Array {
    const chunk = Math.floor(block / this.#blocksPerChunk)
    const first = chunk * this.#blocksPerChunk
    const last = Math.min(first + this.#blocksPerChunk, this.blockCount) - 1
    const chunkStart = this.#endOf(first - 1)
    const sumsAt = this.blockCount * BLOCK_ENTRY_BYTES
    const bytes = this.#source.read({
      at: this.#entry.start + chunkStart,
      bytes: this.#endOf(last) - chunkStart,
      sum: this.#table.getUint32(sumsAt + chunk * SUM_BYTES, true),
    })
    const from = this.#endOf(block - 1) - chunkStart
    const count = this.#lengthOf(block, block - first)
    const rowsBytes = this.#endOf(block) - chunkStart - from - count * WEIGHT_BYTES
    if (count === BLOCK_LENGTH) this.#unpackRows(block, { bytes, from, rowsBytes }, rows)
    else rows.set(new Uint32Array(bytes.buffer, bytes.byteOffset + from, count))
    return new Float32Array(bytes.buffer, bytes.byteOffset + from + rowsBytes, count)
  }

  #unpackRows(block: number, { bytes, from, rowsBytes }: PackedRows, rows: Uint32Array): void {
    unpackBlock(bytes, from, rowsBytes / (BLOCK_LENGTH / 8), rows)
    let row = block === 0 ? -1 : this.lastRowOf(block - 1)
    for (let i = 0; i < BLOCK_LENGTH; i += 1) {
      row += (rows[i] ?? 0) + 1
      rows[i] = row
    }
  }

  #endOf(block: number): number {
    return block < 0 ? 0 : this.#table.getUint32(block * BLOCK_ENTRY_BYTES + 8, true)
  }

  #lengthOf(block: number, inChunk: number): number {
    const before = Math.floor(block / this.#blocksPerChunk) * this.#chunkSize
    const from = before + inChunk * BLOCK_LENGTH
    const end = Math.min(this.count, before + this.#chunkSize, from + BLOCK_LENGTH)
    return must(end > from ? end - from : undefined, 'a block of the term')
  }
}

interface PackedRows {
  readonly bytes: Uint8Array
  readonly from: number
  readonly rowsBytes: number
}
