// Records: what a connection carries after the handshake. Format: docs/reference/formats/peer-protocol.md.
//
//   u32 length of the rest │ frames │ check
//
// Invariants:
//   PR1  A record is opened only if its check fits its bytes and its place among all records of its
//        direction. So none can be changed, repeated, left out or moved.
//   PR2  No more memory is taken than the length says, and no length above RECORD_BYTES_MAX is believed.

import { timingSafeEqual } from 'node:crypto'
import { crc32 } from 'node:zlib'
import { ServiceError } from '../../../lib/errors.ts'
import { InPlaceHmac } from './session-keys.ts'

/** The frames of one record. Hashing this many bytes takes about 0.2 ms. */
export const RECORD_BYTES_MAX = 256 * 1024
const LENGTH_BYTES = 4
const SEQUENCE_BYTES = 8
const HEAD_BYTES = SEQUENCE_BYTES + LENGTH_BYTES

/**
 * Computes the check of a record. `buffer` holds `headroom` free bytes, then the sequence number, the
 * length and the frames.
 */
export interface RecordCheck {
  readonly bytes: number
  readonly headroom: number
  readonly compute: (buffer: Buffer) => Buffer
}

/** For connections without TLS: the first half of an HMAC-SHA256. */
export function keyedCheck(key: Buffer): RecordCheck {
  const hmac = new InPlaceHmac(key)
  const bytes = 16
  return {
    bytes,
    headroom: InPlaceHmac.headroom,
    compute: (buffer) => hmac.digest(buffer).subarray(0, bytes),
  }
}

/** For TLS, which authenticates: a crc finds what our own code or memory confused. */
export function plainCheck(): RecordCheck {
  return { bytes: 4, headroom: 0, compute: crcOf }
}

function crcOf(buffer: Buffer): Buffer {
  const out = Buffer.allocUnsafe(4)
  out.writeUInt32BE(crc32(buffer))
  return out
}

/** Makes the records of one direction. */
export class RecordSealer {
  readonly #check: RecordCheck
  #sequence = 0

  constructor(check: RecordCheck) {
    this.#check = check
  }

  /** `write` fills the frames, which have `length` bytes. Answers the record. */
  seal(length: number, write: (frames: Buffer) => void): Buffer {
    const { bytes, headroom, compute } = this.#check
    const framesAt = headroom + HEAD_BYTES
    const buffer = Buffer.allocUnsafe(framesAt + length + bytes)
    writeHead(buffer, { at: headroom, sequence: this.#sequence, rest: length + bytes })
    this.#sequence += 1
    write(buffer.subarray(framesAt, framesAt + length))
    const check = compute(buffer.subarray(0, framesAt + length))
    buffer.set(check, framesAt + length)
    return buffer.subarray(headroom + SEQUENCE_BYTES)
  }
}

/** Opens the records of one direction, which come in pieces of any size. */
export class RecordOpener {
  readonly #check: RecordCheck
  readonly #length = Buffer.alloc(LENGTH_BYTES)
  #lengthFilled = 0
  /** The record that is arriving, with the room that its check needs. */
  #record: Buffer | undefined
  #filled = 0
  #sequence = 0

  constructor(check: RecordCheck) {
    this.#check = check
  }

  /**
   * Calls `onFrames` with the frames of each record that is complete. Throws a ServiceError with
   * CORRUPTION at the first one that is not as the other end sent it.
   */
  push(bytes: Uint8Array, onFrames: (frames: Buffer) => void): void {
    let at = 0
    while (at < bytes.length) {
      if (this.#record === undefined) at = this.#takeLength(bytes, at)
      if (this.#record === undefined) return
      const record: Buffer = this.#record
      const end = Math.min(bytes.length, at + record.length - this.#filled)
      record.set(bytes.subarray(at, end), this.#filled)
      this.#filled += end - at
      at = end
      if (this.#filled < record.length) return
      this.#record = undefined
      onFrames(this.#open(record))
    }
  }

  #takeLength(bytes: Uint8Array, from: number): number {
    let at = from
    while (this.#lengthFilled < LENGTH_BYTES && at < bytes.length) {
      this.#length[this.#lengthFilled++] = bytes[at++] ?? 0
    }
    if (this.#lengthFilled < LENGTH_BYTES) return at
    this.#lengthFilled = 0
    const rest = this.#length.readUInt32BE()
    const frames = rest - this.#check.bytes
    if (frames <= 0 || frames > RECORD_BYTES_MAX) {
      throw new ServiceError('CORRUPTION', `a record of ${rest} bytes`)
    }
    const { headroom } = this.#check
    this.#record = Buffer.allocUnsafe(headroom + HEAD_BYTES + rest)
    writeHead(this.#record, { at: headroom, sequence: this.#sequence, rest })
    this.#sequence += 1
    this.#filled = headroom + HEAD_BYTES
    return at
  }

  #open(record: Buffer): Buffer {
    const { bytes, headroom, compute } = this.#check
    const end = record.length - bytes
    const expected = compute(record.subarray(0, end))
    if (!timingSafeEqual(expected, record.subarray(end))) {
      throw new ServiceError('CORRUPTION', 'the check of a record does not fit it')
    }
    return record.subarray(headroom + HEAD_BYTES, end)
  }
}

interface RecordHead {
  readonly at: number
  readonly sequence: number
  readonly rest: number
}

function writeHead(buffer: Buffer, { at, sequence, rest }: RecordHead): void {
  buffer.writeUInt32BE(Math.floor(sequence / 2 ** 32), at)
  buffer.writeUInt32BE(sequence % 2 ** 32, at + 4)
  buffer.writeUInt32BE(rest, at + SEQUENCE_BYTES)
}
