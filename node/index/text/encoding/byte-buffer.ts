import { crc32 } from 'node:zlib'

/** Fewer bytes are copied sooner one by one than by way of a view. */
const COPIED_SINGLY_MAX = 48

/** Bytes that grow at the end. The views it hands out are good until the next append. */
export class ByteBuffer {
  bytes = new Uint8Array(4096)
  length = 0

  clear(): void {
    this.length = 0
  }

  view(): Uint8Array {
    return this.bytes.subarray(0, this.length)
  }

  /** Makes room for `count` bytes at `length` and answers where they go. */
  reserve(count: number): number {
    const needed = this.length + count
    if (needed > this.bytes.length) {
      const larger = new Uint8Array(Math.max(needed, this.bytes.length * 2))
      larger.set(this.bytes.subarray(0, this.length))
      this.bytes = larger
    }
    return this.length
  }

  writeByte(value: number): void {
    this.reserve(1)
    this.bytes[this.length] = value
    this.length += 1
  }

  /** Seven bits a byte, the lowest first, the high bit on all but the last. Up to 2^53. */
  writeVarint(value: number): void {
    this.reserve(8)
    let rest = value
    while (rest >= 0x80) {
      this.bytes[this.length] = (rest % 0x80) | 0x80
      this.length += 1
      rest = rest < 0x80000000 ? rest >>> 7 : Math.floor(rest / 0x80)
    }
    this.bytes[this.length] = rest
    this.length += 1
  }

  writeUint32(value: number): void {
    const at = this.reserve(4)
    this.bytes[at] = value
    this.bytes[at + 1] = value >>> 8
    this.bytes[at + 2] = value >>> 16
    this.bytes[at + 3] = value >>> 24
    this.length += 4
  }

  write(bytes: Uint8Array): void {
    const at = this.reserve(bytes.length)
    this.bytes.set(bytes, at)
    this.length += bytes.length
  }

  /** Appends the bytes of another buffer, which are often few. */
  append(other: ByteBuffer): void {
    if (other.length > COPIED_SINGLY_MAX) {
      this.write(other.view())
      return
    }
    const at = this.reserve(other.length)
    for (let i = 0; i < other.length; i += 1) this.bytes[at + i] = other.bytes[i] ?? 0
    this.length += other.length
  }
}

export function readUint32(bytes: Uint8Array, at: number): number {
  const low = (bytes[at] ?? 0) | ((bytes[at + 1] ?? 0) << 8) | ((bytes[at + 2] ?? 0) << 16)
  return (low | ((bytes[at + 3] ?? 0) << 24)) >>> 0
}

/** Reads the values that a `ByteBuffer` wrote, in the same order. It does not check the end. */
export class ByteBufferReader {
  #bytes: Uint8Array
  at: number

  constructor(bytes: Uint8Array, at = 0) {
    this.#bytes = bytes
    this.at = at
  }

  byte(): number {
    const value = this.#bytes[this.at] ?? 0
    this.at += 1
    return value
  }

  varint(): number {
    let byte = this.byte()
    if (byte < 0x80) return byte
    let value = byte & 0x7f
    for (let scale = 0x80; byte >= 0x80; scale *= 0x80) {
      byte = this.byte()
      value += (byte & 0x7f) * scale
    }
    return value
  }

  /** A view of the next bytes. */
  take(count: number): Uint8Array {
    const view = this.#bytes.subarray(this.at, this.at + count)
    this.at += count
    return view
  }
}

export function checksum(...parts: readonly Uint8Array[]): number {
  return parts.reduce((sum, part) => crc32(part, sum), 0)
}
