// The postings of one term as bytes. Format: docs/reference/formats/text-segment.md, "Postings".

import { assert } from '../../../../lib/assert.ts'
import { BLOCK_LENGTH, bitsOf, packBlock, packedBytes } from '../../encoding/bit-packing.ts'
import { ByteBuffer } from '../encoding/byte-buffer.ts'
import type { FieldNorms } from '../encoding/field-norms.ts'

/** Frequencies from here on count as unbounded in a block's impacts. */
const IMPACT_FREQ_MAX = 255
const UNBOUNDED_FREQ = 0

/** The inputs that the postings of all terms of a field share while they are written. */
export interface PostingsFieldOptions {
  readonly hasPositions: boolean
  /** The norms of the documents of the new segment; all 0 for a field without norms. */
  readonly norms: FieldNorms
}

/** Gathers one term after the other: `add` each document in order, then `endTerm`. */
export class PostingsWriter {
  readonly #options: PostingsFieldOptions
  readonly #docs = new Uint32Array(BLOCK_LENGTH)
  readonly #freqs = new Uint32Array(BLOCK_LENGTH)
  readonly #deltas = new Uint32Array(BLOCK_LENGTH)
  readonly #meta = new ByteBuffer()
  readonly #blocks = new ByteBuffer()
  readonly #positions = new ByteBuffer()
  readonly #pending = new ByteBuffer()
  readonly #leastNorms = new Uint16Array(IMPACT_FREQ_MAX + 1)
  #count = 0
  #blockCount = 0
  #lastDoc = -1
  #positionsStart = 0
  #lastPosition = 0

  constructor(options: PostingsFieldOptions) {
    this.#options = options
  }

  get docFreq(): number {
    return this.#blockCount * BLOCK_LENGTH + this.#count
  }

  add(doc: number, freq: number): void {
    if (this.#count === BLOCK_LENGTH) this.#endBlock()
    this.#docs[this.#count] = doc
    this.#freqs[this.#count] = freq
    this.#count += 1
    this.#lastPosition = 0
  }

  /** The next positions of the document just added, ascending. */
  addPositions(values: Uint32Array, from: number, to: number): void {
    let last = this.#lastPosition
    for (let i = from; i < to; i += 1) {
      const position = values[i] ?? 0
      this.#positions.writeVarint(position - last)
      last = position
    }
    this.#lastPosition = last
  }

  /** The bytes of ended terms that have not been taken yet. */
  get pendingBytes(): number {
    return this.#pending.length
  }

  endTerm(): void {
    const pending = this.#pending
    if (this.#blockCount === 0 && this.#count < BLOCK_LENGTH) {
      this.#writeTail(pending)
    } else {
      if (this.#count > 0) this.#endBlock()
      pending.writeVarint(this.#meta.length)
      pending.write(this.#meta.view())
      pending.write(this.#blocks.view())
    }
    pending.append(this.#positions)
    this.#clear()
  }

  /** Takes the pending bytes, which are valid until the next call. */
  takePending(): Uint8Array {
    const bytes = this.#pending.view()
    this.#pending.clear()
    return bytes
  }

  #clear(): void {
    this.#meta.clear()
    this.#blocks.clear()
    this.#positions.clear()
    this.#count = 0
    this.#blockCount = 0
    this.#lastDoc = -1
    this.#positionsStart = 0
  }

  #endBlock(): void {
    const start = this.#blocks.length
    const before = this.#lastDoc
    if (this.#count === BLOCK_LENGTH) this.#packBlock()
    else this.#writeTail(this.#blocks)
    this.#lastDoc = this.#docs[this.#count - 1] ?? 0
    this.#meta.writeVarint(this.#lastDoc - before)
    this.#meta.writeVarint(this.#blocks.length - start)
    if (this.#options.hasPositions) {
      this.#meta.writeVarint(this.#positions.length - this.#positionsStart)
      this.#positionsStart = this.#positions.length
    }
    this.#writeImpacts()
    if (this.#count === BLOCK_LENGTH) this.#blockCount += 1
    this.#count = 0
  }

  #packBlock(): void {
    const blocks = this.#blocks
    this.#fillDeltas()
    const docBits = bitsOf(this.#deltas)
    const docsAt = blocks.reserve(2 + packedBytes(docBits))
    blocks.bytes[docsAt] = docBits
    packBlock(this.#deltas, docBits, blocks.bytes, docsAt + 2)
    blocks.length += 2 + packedBytes(docBits)
    for (let i = 0; i < BLOCK_LENGTH; i += 1) this.#deltas[i] = (this.#freqs[i] ?? 1) - 1
    const freqBits = bitsOf(this.#deltas)
    const freqsAt = blocks.reserve(packedBytes(freqBits))
    blocks.bytes[docsAt + 1] = freqBits
    packBlock(this.#deltas, freqBits, blocks.bytes, freqsAt)
    blocks.length += packedBytes(freqBits)
  }

  #writeTail(out: ByteBuffer): void {
    this.#fillDeltas()
    for (let i = 0; i < this.#count; i += 1) {
      const freq = this.#freqs[i] ?? 1
      out.writeVarint((this.#deltas[i] ?? 0) * 2 + (freq === 1 ? 1 : 0))
      if (freq !== 1) out.writeVarint(freq)
    }
  }

  #fillDeltas(): void {
    let last = this.#lastDoc
    for (let i = 0; i < this.#count; i += 1) {
      const doc = this.#docs[i] ?? 0
      assert(doc > last, 'the documents of a term ascend')
      this.#deltas[i] = doc - last - 1
      last = doc
    }
  }

  /** A pair is left out if another has at least its frequency and at most its norm. */
  #writeImpacts(): void {
    const least = this.#leastNorms
    const { norms } = this.#options
    let freqMax = 0
    least.fill(256)
    for (let i = 0; i < this.#count; i += 1) {
      const freq = Math.min(this.#freqs[i] ?? 1, IMPACT_FREQ_MAX)
      const norm = norms.at(this.#docs[i] ?? 0)
      freqMax = Math.max(freqMax, freq)
      if (norm < (least[freq] ?? 0)) least[freq] = norm
    }
    let lowest = 256
    for (let freq = freqMax; freq > 0; freq -= 1) {
      const norm = least[freq] ?? 256
      if (norm >= lowest) continue
      lowest = norm
      this.#meta.writeByte(freq === IMPACT_FREQ_MAX ? UNBOUNDED_FREQ : freq)
      this.#meta.writeByte(norm)
    }
    // A frequency above the one before it cannot occur: it ends the list.
    this.#meta.writeByte(IMPACT_FREQ_MAX)
  }
}
