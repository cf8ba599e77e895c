import { ServiceError } from '../../../lib/errors.ts'
import type { Timestamp } from '../../clock/hybrid-clock.ts'
import { readTimestamp, writeTimestamp } from '../../clock/timestamp-bytes.ts'

/** Appends fields to a growing buffer, big-endian; byte strings are preceded by their length. */
export class ByteWriter {
  #bytes: Buffer
  #length = 0

  /** `capacity` bytes fit without copying what was written. */
  constructor(capacity = 64) {
    this.#bytes = Buffer.allocUnsafe(capacity)
  }

  get length(): number {
    return this.#length
  }

  u8(value: number): this {
    this.#reserve(1)
    this.#length = this.#bytes.writeUInt8(value, this.#length)
    return this
  }

  u16(value: number): this {
    this.#reserve(2)
    this.#length = this.#bytes.writeUInt16BE(value, this.#length)
    return this
  }

  u32(value: number): this {
    this.#reserve(4)
    this.#length = this.#bytes.writeUInt32BE(value, this.#length)
    return this
  }

  u48(value: number): this {
    this.#reserve(6)
    this.#length = this.#bytes.writeUIntBE(value, this.#length, 6)
    return this
  }

  timestamp(value: Timestamp): this {
    this.#reserve(8)
    this.#length = writeTimestamp(this.#bytes, value, this.#length)
    return this
  }

  /** At most 65 535 bytes. */
  shortBytes(value: Uint8Array): this {
    return this.u16(value.length).raw(value)
  }

  raw(value: Uint8Array): this {
    this.#reserve(value.length)
    this.#bytes.set(value, this.#length)
    this.#length += value.length
    return this
  }

  done(): Buffer {
    return this.#bytes.subarray(0, this.#length)
  }

  #reserve(count: number): void {
    const needed = this.#length + count
    if (needed <= this.#bytes.length) return
    const grown = Buffer.allocUnsafe(Math.max(needed, this.#bytes.length * 2))
    this.#bytes.copy(grown, 0, 0, this.#length)
    this.#bytes = grown
  }
}

/** Reads what ByteWriter wrote; running past the end is CORRUPTION, never a wrong value. */
export class ByteReader {
  readonly #bytes: Buffer
  readonly #what: string
  #at = 0

  constructor(bytes: Buffer, what: string) {
    this.#bytes = bytes
    this.#what = what
  }

  /** Checks the leading format byte. */
  format(expected: number): this {
    this.oneOfFormats([expected])
    return this
  }

  /** Like `format`, for records with several formats. Returns the format of this one. */
  oneOfFormats(expected: readonly number[]): number {
    const found = this.u8()
    if (expected.includes(found)) return found
    throw new ServiceError('CORRUPTION', `${this.#what}: unknown format ${found}`)
  }

  u8(): number {
    return this.#bytes.readUInt8(this.#advance(1))
  }

  /** The next byte, which stays the next. */
  peek(): number {
    const byte = this.u8()
    this.#at -= 1
    return byte
  }

  u16(): number {
    return this.#bytes.readUInt16BE(this.#advance(2))
  }

  u32(): number {
    return this.#bytes.readUInt32BE(this.#advance(4))
  }

  u48(): number {
    return this.#bytes.readUIntBE(this.#advance(6), 6)
  }

  timestamp(): Timestamp {
    return readTimestamp(this.#bytes, this.#advance(8))
  }

  shortBytes(): Buffer {
    return this.raw(this.u16())
  }

  raw(count: number): Buffer {
    const from = this.#advance(count)
    return this.#bytes.subarray(from, from + count)
  }

  rest(): Buffer {
    return this.raw(this.#bytes.length - this.#at)
  }

  #advance(count: number): number {
    const from = this.#at
    if (from + count > this.#bytes.length) {
      throw new ServiceError('CORRUPTION', `${this.#what}: cut short at byte ${from}`)
    }
    this.#at += count
    return from
  }
}
