// Reading what sparse-postings-writer.ts writes. Format: docs/reference/formats/sparse-segment.md.

import { damaged } from '../../rows/file-sums.ts'
import { firstAtLeast } from '../../rows/radix-sort.ts'
import type { PostingsBytes } from './postings-bytes.ts'
import {
  DIRECTORY_ENTRY_BYTES,
  ENTRY_BYTES,
  FOOTER_BYTES,
  POSTINGS_MAGIC,
  POSTINGS_VERSION,
  TERMS_PER_BLOCK,
  type PostingsSum,
} from './postings-format.ts'
import { TermPostings, type TermEntry } from './term-postings.ts'

/** The postings of a segment, by term. The directory alone is in memory: a term in 128 has 16 bytes there. */
export class SparsePostings {
  readonly termCount: number
  readonly postingCount: number
  readonly blockCount: number
  readonly #source: PostingsBytes
  readonly #chunkSize: number
  readonly #firstTerms: Uint32Array
  readonly #sums: Uint32Array
  readonly #places: Float64Array

  /** CORRUPTION if the directory has another sum than `written`. */
  constructor(source: PostingsBytes, written: PostingsSum, name: string) {
    this.#source = source
    const footer = this.#readFooter(written, name)
    this.termCount = footer.getUint32(12, true)
    this.postingCount = footer.getFloat64(16, true)
    this.#chunkSize = footer.getUint32(8, true)
    this.blockCount = Math.ceil(this.termCount / TERMS_PER_BLOCK)
    const { blockCount } = this
    this.#firstTerms = new Uint32Array(blockCount)
    this.#sums = new Uint32Array(blockCount)
    this.#places = new Float64Array(blockCount)
    for (let i = 0; i < blockCount; i += 1) {
      const at = i * DIRECTORY_ENTRY_BYTES - blockCount * DIRECTORY_ENTRY_BYTES
      const entry = new DataView(footer.buffer, footer.byteOffset + at, DIRECTORY_ENTRY_BYTES)
      this.#places[i] = entry.getFloat64(0, true)
      this.#firstTerms[i] = entry.getUint32(8, true)
      this.#sums[i] = entry.getUint32(12, true)
    }
  }

  get bytesOnDisk(): number {
    return this.#source.bytesOnDisk
  }

  get bytesInMemory(): number {
    return this.#source.bytesInMemory + this.blockCount * DIRECTORY_ENTRY_BYTES
  }

  /** Undefined if no row has the term. */
  termOf(term: number): TermPostings | undefined {
    const next = firstAtLeast(this.#firstTerms, term + 1)
    if (next === 0) return undefined
    const entries = this.entriesOf(next - 1)
    let low = 0
    let high = entries.length
    while (low < high) {
      const middle = (low + high) >>> 1
      if ((entries[middle]?.term ?? 0) < term) low = middle + 1
      else high = middle
    }
    const entry = entries[low]
    return entry?.term === term ? this.open(entry) : undefined
  }

  open(entry: TermEntry): TermPostings {
    return new TermPostings(this.#source, entry, this.#chunkSize)
  }

  /** The terms of a block of the dictionary, ascending. */
  entriesOf(block: number): readonly TermEntry[] {
    const count = Math.min(TERMS_PER_BLOCK, this.termCount - block * TERMS_PER_BLOCK)
    const bytes = this.#source.read({
      at: this.#places[block] ?? 0,
      bytes: count * ENTRY_BYTES,
      sum: this.#sums[block] ?? 0,
    })
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length)
    return Array.from({ length: count }, (_, i) => entryAt(view, i * ENTRY_BYTES))
  }

  close(): void {
    this.#source.close()
  }

  /** The directory lies before it in the same buffer. */
  #readFooter({ bytes, directoryAt, sum }: PostingsSum, name: string): DataView {
    const length = bytes - directoryAt
    const read = this.#source.read({ at: directoryAt, bytes: length, sum })
    const footerAt = read.byteOffset + length - FOOTER_BYTES
    const footer = new DataView(read.buffer, footerAt, FOOTER_BYTES)
    const [magic, version] = [footer.getUint32(0, true), footer.getUint32(4, true)]
    if (magic === POSTINGS_MAGIC && version === POSTINGS_VERSION) return footer
    throw damaged(`${name} has another format`)
  }
}

function entryAt(view: DataView, at: number): TermEntry {
  return {
    term: view.getUint32(at, true),
    count: view.getUint32(at + 4, true),
    start: view.getFloat64(at + 8, true),
    bytes: view.getUint32(at + 16, true),
    tableSum: view.getUint32(at + 20, true),
    max: view.getFloat32(at + 24, true),
  }
}
