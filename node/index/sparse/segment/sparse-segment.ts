import { BLOCK_LENGTH } from '../../encoding/bit-packing.ts'
import type { RowTable } from '../../rows/row-table.ts'
import { SealedRows } from '../../rows/sealed-rows.ts'
import type { SparsePostings } from '../postings/sparse-postings.ts'
import type { TermEntry } from '../postings/term-postings.ts'
import { NO_TERM, type WeighedTerms, type WeighedRows } from './weighed-terms.ts'

/** A sealed segment of sparse vectors: its documents, and which rows have which terms. */
export class SparseSegment extends SealedRows {
  readonly postings: SparsePostings
  readonly isIndexed = true
  readonly isListed = false

  constructor(table: RowTable, postings: SparsePostings) {
    super(table)
    this.postings = postings
  }

  get bytesOnDisk(): number {
    const { bytesOnDisk } = this.postings
    return bytesOnDisk === 0 ? 0 : bytesOnDisk + this.table.byteLength
  }

  get bytesInMemory(): number {
    return this.postings.bytesInMemory + this.table.byteLength
  }

  /** In one step. */
  walkTerms(): WeighedTerms {
    return new SealedTerms(this.postings)
  }

  protected closeFiles(): void {
    this.postings.close()
  }
}

const NO_ENTRIES: readonly TermEntry[] = []

class SealedTerms implements WeighedTerms {
  readonly #postings: SparsePostings
  readonly #rows = new Uint32Array(BLOCK_LENGTH)
  #block = 0
  #entries: readonly TermEntry[]
  #at = 0

  constructor(postings: SparsePostings) {
    this.#postings = postings
    this.#entries = postings.blockCount > 0 ? postings.entriesOf(0) : NO_ENTRIES
  }

  get term(): number {
    return this.#entries[this.#at]?.term ?? NO_TERM
  }

  *weighedRows(): Generator<WeighedRows> {
    const entry = this.#entries[this.#at]
    if (entry === undefined) return
    const postings = this.#postings.open(entry)
    for (let block = 0; block < postings.blockCount; block += 1) {
      const weights = postings.readBlock(block, this.#rows)
      yield { rows: this.#rows.subarray(0, weights.length), weights }
    }
  }

  next(): void {
    this.#at += 1
    if (this.#at < this.#entries.length) return
    this.#block += 1
    this.#at = 0
    const isEnd = this.#block >= this.#postings.blockCount
    this.#entries = isEnd ? NO_ENTRIES : this.#postings.entriesOf(this.#block)
  }
}
