// Bytes that arrive in chunks of any size, kept without the chunks: many small ones would take many
// times the memory of their bytes.

import type { Sliced } from '../sliced.ts'

const SEGMENT_BYTES_MIN = 64 * 1024
const SEGMENT_BYTES_MAX = 1024 * 1024
/** One part in this many of the announced bytes must arrive before memory is reserved for the rest. */
const BELIEF = 16
/** Copied in a step: about a tenth of a millisecond, or more where memory is touched first. */
const STEP_BYTES = 1024 * 1024
const EMPTY = Buffer.alloc(0)

/**
 * Collects the bytes of one body. It keeps the first chunk as it came, so the sender must not
 * reuse it. What was announced bounds nothing: the caller checks the length.
 */
export class ByteCollector {
  readonly #segments: Buffer[] = []
  readonly #expectedBytes: number
  readonly #ownsChunks: boolean
  /** The only chunk so far is kept as it came: most bodies are one chunk. */
  #only: Buffer | undefined
  #usedInLast = 0
  #length = 0

  /**
   * `expectedBytes` is what the sender has announced, 0 if nothing; it may be wrong. With `ownsChunks` nobody else reads a
   * chunk any more, and its memory is given back as soon as it is copied.
   */
  constructor(expectedBytes: number, { ownsChunks = false } = {}) {
    this.#expectedBytes = expectedBytes
    this.#ownsChunks = ownsChunks
  }

  get length(): number {
    return this.#length
  }

  add(chunk: Buffer): void {
    if (this.#length === 0) {
      this.#only = chunk
      this.#length = chunk.length
      return
    }
    const first = this.#only
    if (first !== undefined) {
      this.#only = undefined
      this.#length = 0
      this.#copy(first)
    }
    this.#copy(chunk)
  }

  /**
   * Gives the memory of all bytes back at once, where a collection of garbage would do so seconds later: what `whole`
   * answered must not be in use any more.
   */
  free(): void {
    for (const segment of this.#segments) freeMemoryOf(segment)
    this.#segments.length = 0
    this.#only = undefined
    this.#usedInLast = 0
    this.#length = 0
  }

  /** All bytes in one buffer; undefined if that needs a copy. */
  whole(): Buffer | undefined {
    if (this.#length === 0) return EMPTY
    if (this.#only !== undefined) return this.#only
    const [first] = this.#segments
    return this.#segments.length === 1 ? first?.subarray(0, this.#length) : undefined
  }

  /** All bytes as one, copied. */
  *join(): Sliced<Buffer> {
    const joined = Buffer.allocUnsafeSlow(this.#length)
    let at = 0
    for (const segment of this.#segments) {
      for (let from = 0; from < segment.length && at < this.#length; from += STEP_BYTES) {
        at += segment.copy(joined, at, from, Math.min(segment.length, from + STEP_BYTES))
        yield
      }
    }
    return joined
  }

  #copy(chunk: Buffer): void {
    let from = 0
    while (from < chunk.length) {
      let last = this.#segments.at(-1)
      if (last === undefined || this.#usedInLast === last.length) last = this.#grow()
      const copied = chunk.copy(last, this.#usedInLast, from)
      this.#usedInLast += copied
      this.#length += copied
      from += copied
    }
    if (this.#ownsChunks && chunk.length === chunk.buffer.byteLength) freeMemoryOf(chunk)
  }

  #grow(): Buffer {
    const promised = this.#expectedBytes
    const isBelieved = promised > this.#length && this.#length * BELIEF >= promised
    if (isBelieved) return this.#gather(promised)
    const wanted = Math.max(promised - this.#length, this.#length, SEGMENT_BYTES_MIN)
    return this.#begin(Math.min(wanted, SEGMENT_BYTES_MAX))
  }

  /** Makes one segment for the bytes that have come and those still to come, so that `whole` joins nothing. */
  #gather(bytes: number): Buffer {
    const known = this.#segments.splice(0)
    const whole = this.#begin(bytes)
    for (const segment of known) this.#usedInLast += segment.copy(whole, this.#usedInLast)
    return whole
  }

  #begin(bytes: number): Buffer {
    const segment = Buffer.allocUnsafeSlow(bytes)
    this.#segments.push(segment)
    this.#usedInLast = 0
    return segment
  }
}

/** For a buffer with memory of its own. Its bytes are gone afterwards. */
function freeMemoryOf({ buffer }: Buffer): void {
  if (buffer instanceof ArrayBuffer) buffer.transfer(0)
}
