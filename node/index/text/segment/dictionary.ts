// Sorted texts in front-coded blocks of 32, with the first text of each block in memory.
// Terms are UTF-8; keys are bytes, held as strings of one code unit a byte ("latin1"). The bytes of both
// ascend, which is the order of `compareTexts`: lookups halve the blocks by it. Format: docs/reference/formats/text-segment.md, "Dictionaries".

import { assert } from '../../../../lib/assert.ts'
import type { Paced, Sliced } from '../../../../lib/sliced.ts'
import { TextBytes } from '../encoding/text-bytes.ts'
import { ByteBuffer, ByteBufferReader } from '../encoding/byte-buffer.ts'
import { compareTexts } from '../encoding/compare-texts.ts'
import type { SegmentInput, SegmentOutput } from '../encoding/segment-file.ts'

const BLOCK_TEXTS = 32
const BLOCKS_PER_STEP = 2048

export type DictionaryEncoding = 'utf8' | 'latin1'

/** The place of a dictionary, in the description of its segment. */
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

/**
 * Writes one dictionary. The caller adds texts in ascending order, each once, then takes the bytes. The
 * writer checks the order by the bytes that it writes, because lookups in another order miss silently.
 */
export class DictionaryWriter {
  readonly #encoding: DictionaryEncoding
  readonly #blocks = new ByteBuffer()
  readonly #index = new ByteBuffer()
  #last = new TextBytes()
  #next = new TextBytes()
  #blockStart = 0
  #count = 0

  constructor(encoding: DictionaryEncoding) {
    this.#encoding = encoding
  }

  /** `postings` is absent for keys. */
  add(text: string, postings?: { docFreq: number; offset: number; length: number }): void {
    const bytes = this.#next
    const length = bytes.write(text, this.#encoding)
    const last = this.#last
    const isFirst = this.#count % BLOCK_TEXTS === 0
    const common = last.sharedWith(bytes)
    // A byte that is not there is less than any other.
    const ascends = last.at(common) < bytes.at(common)
    assert(ascends || this.#count === 0, 'the texts of a dictionary ascend')
    const shared = isFirst ? 0 : common
    if (isFirst) this.#beginBlock(bytes.view(), postings?.offset ?? 0)
    this.#blocks.writeVarint(shared)
    this.#blocks.writeVarint(length - shared)
    bytes.appendTo(this.#blocks, shared)
    if (postings !== undefined) {
      this.#blocks.writeVarint(postings.docFreq)
      this.#blocks.writeVarint(postings.length)
    }
    this.#last = bytes
    this.#next = last
    this.#count += 1
  }

  *finish(out: SegmentOutput): Paced<DictionaryPlace> {
    const offset = out.offset
    this.#index.writeVarint(this.#blocks.length - this.#blockStart)
    yield* out.writeInSteps(this.#blocks.view())
    yield* out.writeInSteps(this.#index.view())
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

/**
 * Looks up texts in one dictionary of a segment file, which must stay open meanwhile. It keeps the
 * first text of each block in memory and reads one block for a lookup.
 */
export class DictionaryReader {
  readonly count: number
  readonly #file: SegmentInput
  readonly #encoding: DictionaryEncoding
  readonly #hasPostings: boolean
  readonly #firsts: readonly string[]
  readonly #starts: Float64Array

  static *open(
    file: SegmentInput,
    place: DictionaryPlace,
    encoding: DictionaryEncoding,
  ): Sliced<DictionaryReader> {
    const blockCount = Math.ceil(place.count / BLOCK_TEXTS)
    const starts = new Float64Array(blockCount + 1)
    const firsts: string[] = []
    const index = yield* file.copyInSteps(place.offset + place.bytes, place.indexBytes)
    const reader = new ByteBufferReader(index)
    let start = place.offset
    for (let block = 0; block < blockCount; block += 1) {
      start += reader.varint()
      starts[block] = start
      firsts.push(Buffer.from(reader.take(reader.varint())).toString(encoding))
      if (block % BLOCKS_PER_STEP === BLOCKS_PER_STEP - 1) yield
    }
    starts[blockCount] = start + reader.varint()
    return new DictionaryReader(file, place.count, { encoding, firsts, starts })
  }

  private constructor(
    file: SegmentInput,
    count: number,
    index: {
      readonly encoding: DictionaryEncoding
      readonly firsts: readonly string[]
      readonly starts: Float64Array
    },
  ) {
    this.#file = file
    this.count = count
    this.#encoding = index.encoding
    this.#hasPostings = index.encoding === 'utf8'
    this.#firsts = index.firsts
    this.#starts = index.starts
  }

  find(text: string): DictionaryEntry | undefined {
    const block = this.#blockOf(text)
    if (block < 0) return undefined
    const wanted = Buffer.from(text, this.#encoding)
    const walk = this.#openBlock(block)
    for (let ordinal = block * BLOCK_TEXTS; ordinal < this.#endOf(block); ordinal += 1) {
      walk.next()
      if (!walk.isAt(wanted)) continue
      const { docFreq, offset, length } = walk
      return { text, ordinal, docFreq, offset, length }
    }
    return undefined
  }

  /** The number of texts below this one. It is the ordinal of the first text at or above it. */
  lowerBound(text: string): number {
    const block = this.#blockOf(text)
    if (block < 0) return 0
    const entries = this.#blockEntries(block)
    const found = entries.findIndex((entry) => compareTexts(entry.text, text) >= 0)
    return block * BLOCK_TEXTS + (found < 0 ? entries.length : found)
  }

  at(ordinal: number): string {
    if (ordinal < 0 || ordinal >= this.count) throw this.#file.corruption()
    const walk = this.#openBlock(Math.floor(ordinal / BLOCK_TEXTS))
    for (let i = ordinal % BLOCK_TEXTS; i >= 0; i -= 1) walk.next()
    return walk.text(this.#encoding)
  }

  /** The entries in order, from the first text at or above `from`. */
  *entriesFrom(from: string): Generator<DictionaryEntry, void> {
    for (let block = Math.max(this.#blockOf(from), 0); block < this.#firsts.length; block += 1) {
      for (const entry of this.#blockEntries(block)) {
        if (compareTexts(entry.text, from) >= 0) yield entry
      }
    }
  }

  /** The last block whose first text is not above `text`; -1 if there is none. */
  #blockOf(text: string): number {
    let low = 0
    let high = this.#firsts.length
    while (low < high) {
      const middle = (low + high) >>> 1
      if (compareTexts(this.#firsts[middle] ?? '', text) <= 0) low = middle + 1
      else high = middle
    }
    return low - 1
  }

  #blockEntries(block: number): DictionaryEntry[] {
    const walk = this.#openBlock(block)
    const entries: DictionaryEntry[] = []
    for (let ordinal = block * BLOCK_TEXTS; ordinal < this.#endOf(block); ordinal += 1) {
      walk.next()
      const { docFreq, offset, length } = walk
      entries.push({ text: walk.text(this.#encoding), ordinal, docFreq, offset, length })
    }
    return entries
  }

  #openBlock(block: number): BlockWalk {
    const start = this.#starts[block] ?? 0
    this.#file.seek(start, (this.#starts[block + 1] ?? 0) - start)
    return new BlockWalk(new ByteBufferReader(this.#file.view, this.#file.at), this.#hasPostings)
  }

  /** The ordinal behind the last text of the block. */
  #endOf(block: number): number {
    return Math.min((block + 1) * BLOCK_TEXTS, this.count)
  }
}

/**
 * Walks through the texts of one block as bytes, because most are only passed on the way to
 * another.
 */
class BlockWalk {
  docFreq = 0
  offset = 0
  length = 0
  readonly #reader: ByteBufferReader
  readonly #hasPostings: boolean
  #bytes = Buffer.allocUnsafe(64)
  #total = 0

  constructor(reader: ByteBufferReader, hasPostings: boolean) {
    this.#reader = reader
    this.#hasPostings = hasPostings
    this.offset = reader.varint()
  }

  next(): void {
    const reader = this.#reader
    const shared = reader.varint()
    const own = reader.varint()
    const total = shared + own
    if (total > this.#bytes.length) this.#bytes = Buffer.concat([this.#bytes], total * 2)
    const bytes = this.#bytes
    for (let at = shared; at < total; at += 1) bytes[at] = reader.byte()
    this.#total = total
    if (!this.#hasPostings) return
    this.offset += this.length
    this.docFreq = reader.varint()
    this.length = reader.varint()
  }

  isAt(wanted: Uint8Array): boolean {
    if (wanted.length !== this.#total) return false
    // The comparison starts at the end, because texts of a block have a common prefix.
    for (let at = this.#total - 1; at >= 0; at -= 1) {
      if (wanted[at] !== this.#bytes[at]) return false
    }
    return true
  }

  text(encoding: DictionaryEncoding): string {
    return this.#bytes.toString(encoding, 0, this.#total)
  }
}
