import type { Timestamp } from '../../../clock/hybrid-clock.ts'
import { ByteWriter } from '../../format/byte-codec.ts'

/** Longer values are handed on as they are; shorter ones are copied into the bytes around them. */
const OWN_PART_BYTES = 8192
/** The bytes around long values become a part at this length, because a growing buffer is copied. */
const SMALL_PART_BYTES = 64 * 1024

const SCRATCH = Buffer.alloc(8)

/**
 * Writes the fields of docs/reference/formats/shard-calls.md into parts that lie one behind the other. Long values
 * are not copied, so their owner must not change them.
 */
export class WireWriter {
  #small: ByteWriter
  readonly #parts: Uint8Array[] = []
  #partBytes = 0

  constructor(capacity = 64) {
    this.#small = new ByteWriter(capacity)
  }

  get length(): number {
    return this.#partBytes + this.#small.length
  }

  u8(value: number): this {
    this.#small.u8(value)
    return this
  }

  u32(value: number): this {
    this.#small.u32(value)
    return this
  }

  u48(value: number): this {
    this.#small.u48(value)
    return this
  }

  boolean(value: boolean): this {
    return this.u8(value ? 1 : 0)
  }

  /** A double, as IEEE 754 has it. */
  number(value: number): this {
    SCRATCH.writeDoubleBE(value)
    this.#small.raw(SCRATCH)
    return this
  }

  timestamp(value: Timestamp): this {
    this.#small.timestamp(value)
    return this
  }

  /** Bytes whose length the reader knows. */
  raw(value: Uint8Array): this {
    if (value.length < OWN_PART_BYTES) {
      this.#small.raw(value)
      if (this.#small.length >= SMALL_PART_BYTES) this.#split()
      return this
    }
    this.#split()
    this.#parts.push(value)
    this.#partBytes += value.length
    return this
  }

  /** A key: at most 65 535 bytes. */
  key(value: Uint8Array): this {
    this.#small.shortBytes(value)
    return this
  }

  bytes(value: Uint8Array): this {
    return this.u32(value.length).raw(value)
  }

  /** Well-formed text; a lone surrogate would become another character. */
  text(value: string): this {
    return this.bytes(Buffer.from(value))
  }

  parts(): readonly Uint8Array[] {
    this.#split()
    return this.#parts
  }

  /** All parts in one buffer. */
  joined(): Buffer {
    if (this.#parts.length === 0) return this.#small.done()
    return Buffer.concat(this.parts())
  }

  #split(): void {
    if (this.#small.length === 0) return
    this.#parts.push(this.#small.done())
    this.#partBytes += this.#small.length
    this.#small = new ByteWriter()
  }
}
