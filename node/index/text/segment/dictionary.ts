// Sorted texts in front-coded blocks of 32, with the first text of each block in memory.
// Terms are UTF-8; keys are bytes, held as strings of one code unit a byte ("latin1"), so that
// one order, that of code units, serves both. Format: docs/formats/text-segment.md, "Dictionaries".

import { ByteBuffer, ByteReader } from './byte-buffer.ts'
import type { SegmentFile, SegmentOutput } from './segment-file.ts'

const BLOCK_TEXTS = 32

export type DictionaryEncoding = 'utf8' | 'latin1'

/** What the segment's description keeps of a dictionary. */
export interface DictionaryPlace {
  readonly count: number
  readonly offset: number
  readonly bytes: number
  readonly indexBytes: number
}

/** One text and, for a term, where its postings are. */
export interface DictionaryEntry {
  readonly text: string
  readonly ordinal: number
  readonly docFreq: number
  readonly offset: number
  readonly length: number
}

export class DictionaryWriter {
  readonly #encoding: DictionaryEncoding
  readonly #blocks = new ByteBuffer()
  readonly #index = new ByteBuffer()
  #last: Uint8Array = new Uint8Array(0)
  #blockStart = 0
  #count = 0

  constructor(encoding: DictionaryEncoding) {
    this.#encoding = encoding
  }

  /** Texts ascend. `postings` is left out for keys. */
  add(text: string, postings?: { docFreq: number; offset: number; length: number }): void {
    const bytes = Buffer.from(text, this.#encoding)
    const isFirst = this.#count % BLOCK_TEXTS === 0
    const shared = isFirst ? 0 : sharedBytes(this.#last, bytes)
    if (isFirst) this.#beginBlock(bytes, postings?.offset ?? 0)
    this.#blocks.writeVarint(shared)
    this.#blocks.writeVarint(bytes.length - shared)
    this.#blocks.write(bytes.subarray(shared))
    if (postings !== undefined) {
      this.#blocks.writeVarint(postings.docFreq)
      this.#blocks.writeVarint(postings.length)
    }
    this.#last = bytes
    this.#count += 1
  }

  finish(out: SegmentOutput): DictionaryPlace {
    const offset = out.offset
    this.#index.writeVarint(this.#blocks.length - this.#blockStart)
    out.write(this.#blocks.view())
    out.write(this.#index.view())
    return {
      count: this.#count,
      offset,
      bytes: this.#blocks.length,
      indexBytes: this.#index.length,
    }
  }

  /** The index holds the length of the block before, then the first text of this one. */
  #beginBlock(first: Uint8Array, postingsOffset: number): void {
    this.#index.writeVarint(this.#blocks.length - this.#blockStart)
    this.#index.writeVarint(first.length)
    this.#index.write(first)
    this.#blockStart = this.#blocks.length
    this.#blocks.writeVarint(postingsOffset)
  }
}

function sharedBytes(a: Uint8Array, b: Uint8Array): number {
  const most = Math.min(a.length, b.length)
  let shared = 0
  while (shared < most && a[shared] === b[shared]) shared += 1
  return shared
}

export class DictionaryReader {
  readonly count: number
  readonly #file: SegmentFile
  readonly #encoding: DictionaryEncoding
  readonly #hasPostings: boolean
  readonly #firsts: string[] = []
  readonly #starts: Float64Array

  constructor(file: SegmentFile, place: DictionaryPlace, encoding: DictionaryEncoding) {
    this.#file = file
    this.#encoding = encoding
    this.#hasPostings = encoding === 'utf8'
    this.count = place.count
    const blockCount = Math.ceil(place.count / BLOCK_TEXTS)
    this.#starts = new Float64Array(blockCount + 1)
    const reader = new ByteReader(file.copy(place.offset + place.bytes, place.indexBytes))
    let start = place.offset
    for (let block = 0; block < blockCount; block += 1) {
      start += reader.varint()
      this.#starts[block] = start
      this.#firsts.push(Buffer.from(reader.take(reader.varint())).toString(encoding))
    }
    this.#starts[blockCount] = start + reader.varint()
  }

  find(text: string): DictionaryEntry | undefined {
    const block = this.#blockOf(text)
    if (block < 0) return undefined
    return this.#blockEntries(block).find((entry) => entry.text === text)
  }

  /** The number of texts below this one, which is the ordinal of the first that is not. */
  lowerBound(text: string): number {
    const block = this.#blockOf(text)
    if (block < 0) return 0
    const entries = this.#blockEntries(block)
    const found = entries.findIndex((entry) => entry.text >= text)
    return block * BLOCK_TEXTS + (found < 0 ? entries.length : found)
  }

  at(ordinal: number): string {
    const entry = this.#blockEntries(Math.floor(ordinal / BLOCK_TEXTS))[ordinal % BLOCK_TEXTS]
    if (entry === undefined) throw this.#file.corruption()
    return entry.text
  }

  /** From the first text that is not below `from`, in order. */
  *entriesFrom(from: string): Generator<DictionaryEntry, void> {
    for (let block = Math.max(this.#blockOf(from), 0); block < this.#firsts.length; block += 1) {
      for (const entry of this.#blockEntries(block)) if (entry.text >= from) yield entry
    }
  }

  /** The last block whose first text is not above `text`; -1 if there is none. */
  #blockOf(text: string): number {
    let low = 0
    let high = this.#firsts.length
    while (low < high) {
      const middle = (low + high) >>> 1
      if ((this.#firsts[middle] ?? '') <= text) low = middle + 1
      else high = middle
    }
    return low - 1
  }

  #blockEntries(block: number): DictionaryEntry[] {
    const start = this.#starts[block] ?? 0
    const length = (this.#starts[block + 1] ?? 0) - start
    this.#file.seek(start, length)
    const reader = new ByteReader(this.#file.view, this.#file.at)
    const first = block * BLOCK_TEXTS
    const entries: DictionaryEntry[] = []
    let offset = reader.varint()
    let bytes = Buffer.alloc(64)
    for (let ordinal = first; ordinal < Math.min(first + BLOCK_TEXTS, this.count); ordinal += 1) {
      const shared = reader.varint()
      const suffix = reader.take(reader.varint())
      const total = shared + suffix.length
      if (total > bytes.length) bytes = Buffer.concat([bytes], total * 2)
      bytes.set(suffix, shared)
      const docFreq = this.#hasPostings ? reader.varint() : 0
      const postingsBytes = this.#hasPostings ? reader.varint() : 0
      const text = bytes.toString(this.#encoding, 0, total)
      entries.push({ text, ordinal, docFreq, offset, length: postingsBytes })
      offset += postingsBytes
    }
    return entries
  }
}
