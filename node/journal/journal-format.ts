// The bytes of segments and batches. Format: docs/reference/formats/journal.md.

import { crc32 } from 'node:zlib'
import { ServiceError } from '../../lib/errors.ts'
import type { Sliced } from '../../lib/sliced.ts'

/** The identity of a replica's log: 16 hexadecimal digits. */
export type LogId = string

/** The header is stored twice, so that a flipped bit does not make a segment look like a spare. */
export const SEGMENT_HEADER_BYTES = 128
export const BATCH_HEADER_BYTES = 32
export const ROW_BYTES = 32
export const BATCH_ALIGNMENT = 16

const MAGIC = Buffer.from('QRYJRNL', 'latin1')
const HEADER_VERSION = 1
const HEADER_COPY_BYTES = 64
const HEADER_CHECKED_BYTES = 32
const ROW_CHECKED_BYTES = 24
const KIND_AT = 8
const SEQUENCE_AT = 8
const PREVIOUS_AT = 24
const CRC_AT = 28
const HEADER_CRC_AT = 24
/** Checking this many bytes takes about a millisecond. */
export const CRC_BYTES_PER_STEP = 1024 * 1024

/** The header of one segment. */
export interface SegmentHeader {
  readonly number: number
  readonly firstBatch: number
  /** The crc of the batch before the segment's first one. */
  readonly previousCrc: number
  readonly salt: number
}

/** One entry's row in the table of its batch. */
export interface EntryRow {
  readonly logId: LogId
  readonly sequence: number
  readonly epoch: number
  readonly length: number
  /** The crc of the log's entry before this one. */
  readonly previousCrc: number
  readonly crc: number
}

/** The header of one batch. It chains the batch to the one before it. */
export interface BatchHeader {
  readonly crc: number
  readonly length: number
  readonly number: number
  readonly previousCrc: number
  readonly count: number
}

/** The fields that the crc of an entry covers. */
export type UncheckedRow = Omit<EntryRow, 'crc'>

export function encodeSegmentHeader(header: SegmentHeader): Buffer {
  const out = Buffer.alloc(HEADER_COPY_BYTES)
  MAGIC.copy(out, 0)
  out.writeUInt8(HEADER_VERSION, MAGIC.length)
  writeU64(out, header.number, 8)
  writeU64(out, header.firstBatch, 16)
  out.writeUInt32BE(header.previousCrc, 24)
  out.writeUInt32BE(header.salt, 28)
  out.writeUInt32BE(crc32(out.subarray(0, HEADER_CHECKED_BYTES)), HEADER_CHECKED_BYTES)
  return Buffer.concat([out, out])
}

/**
 * Undefined for any bytes that are not the header of this segment. The file is then a spare. Throws
 * INVALID_ARGUMENT if a later version of the program wrote the header.
 */
export function decodeSegmentHeader(bytes: Buffer, number: number): SegmentHeader | undefined {
  if (bytes.length < SEGMENT_HEADER_BYTES) return undefined
  return decodeCopy(bytes, number) ?? decodeCopy(bytes.subarray(HEADER_COPY_BYTES), number)
}

/** INVALID_ARGUMENT for content that a later version of the program wrote. */
export function newerJournalError(fileName: string): ServiceError {
  return new ServiceError(
    'INVALID_ARGUMENT',
    `${fileName} of the journal was written by a newer version of the program; start that version`,
  )
}

function decodeCopy(bytes: Buffer, number: number): SegmentHeader | undefined {
  const checked = bytes.subarray(0, HEADER_CHECKED_BYTES)
  if (!bytes.subarray(0, MAGIC.length).equals(MAGIC)) return undefined
  if (crc32(checked) !== bytes.readUInt32BE(HEADER_CHECKED_BYTES)) return undefined
  if (readU64(bytes, 8) !== number) return undefined
  if (bytes.readUInt8(MAGIC.length) > HEADER_VERSION) {
    throw newerJournalError(segmentFileName(number))
  }
  return {
    number,
    firstBatch: readU64(bytes, 16),
    previousCrc: bytes.readUInt32BE(24),
    salt: bytes.readUInt32BE(28),
  }
}

export function encodeLogId(logId: LogId): Buffer {
  return Buffer.from(logId, 'hex')
}

/** Encodes a row without its crc, which the caller sets later. `log` is the encoded id. */
export function encodeUncheckedRow(log: Buffer, row: Omit<UncheckedRow, 'logId'>): Buffer {
  const out = Buffer.allocUnsafe(ROW_BYTES)
  out.set(log, 0)
  writeU64(out, row.sequence, SEQUENCE_AT) // below 2^53, so its first byte is the kind of entries
  out.writeUInt32BE(row.epoch, 16)
  out.writeUInt32BE(row.length, 20)
  out.writeUInt32BE(row.previousCrc, PREVIOUS_AT)
  return out
}

/**
 * The crc of an entry. `row` is complete except for the crc; the parts of `body` are hashed in
 * order.
 */
export function crcOfEntry(row: Buffer, body: readonly Uint8Array[]): number {
  const chained = body.reduce<number>(
    (sum, part) => crc32(part, sum),
    row.readUInt32BE(PREVIOUS_AT),
  )
  return crc32(row.subarray(0, ROW_CHECKED_BYTES), chained)
}

/** Computes as `crcOfEntry` does, in steps, for long bodies. */
export function* crcOfEntryInSteps(row: Buffer, body: readonly Uint8Array[]): Sliced<number> {
  let chained = row.readUInt32BE(PREVIOUS_AT)
  let left = CRC_BYTES_PER_STEP
  for (const part of body) {
    for (let at = 0; at < part.length; at += CRC_BYTES_PER_STEP) {
      const piece = part.subarray(at, at + CRC_BYTES_PER_STEP)
      chained = crc32(piece, chained)
      left -= piece.length
      if (left > 0) continue
      left = CRC_BYTES_PER_STEP
      yield
    }
  }
  return crc32(row.subarray(0, ROW_CHECKED_BYTES), chained)
}

/** Makes a row that of a mark; 0 is the kind of entries. */
export function setRowKind(row: Buffer, kind: number): void {
  row.writeUInt8(kind, KIND_AT)
}

/** Writes the crc into a row. Returns the same row. */
export function setRowCrc(row: Buffer, crc: number): Buffer {
  row.writeUInt32BE(crc, CRC_AT)
  return row
}

/** The 32 bytes of an entry's row, as the leader encoded them. */
export function encodeRow(row: EntryRow): Buffer {
  return setRowCrc(encodeUncheckedRow(encodeLogId(row.logId), row), row.crc)
}

/** 0 for an entry. */
export function rowKindOf(bytes: Buffer): number {
  return bytes.readUInt8(KIND_AT)
}

/** Decodes a row of any kind without checking it. */
export function decodeRow(bytes: Buffer): EntryRow {
  return {
    logId: bytes.toString('hex', 0, 8),
    sequence:
      (bytes.readUInt32BE(SEQUENCE_AT) & 0xff_ffff) * 0x1_0000_0000 + bytes.readUInt32BE(12),
    epoch: bytes.readUInt32BE(16),
    length: bytes.readUInt32BE(20),
    previousCrc: bytes.readUInt32BE(PREVIOUS_AT),
    crc: bytes.readUInt32BE(CRC_AT),
  }
}

/** The content of a batch before its head is encoded. */
export interface BatchFields {
  readonly length: number
  readonly number: number
  readonly previousCrc: number
  readonly rows: readonly Buffer[]
  readonly salt: number
}

/** The header and the table of a batch. The bodies follow them on disk. */
export function encodeBatchHead(fields: BatchFields): Buffer {
  const out = Buffer.alloc(BATCH_HEADER_BYTES + fields.rows.length * ROW_BYTES)
  out.writeUInt32BE(fields.length, 4)
  writeU64(out, fields.number, 8)
  out.writeUInt32BE(fields.previousCrc, 16)
  out.writeUInt32BE(fields.rows.length, 20)
  out.writeUInt32BE(crc32(out.subarray(4, HEADER_CRC_AT), fields.salt), HEADER_CRC_AT)
  fields.rows.forEach((row, at) => row.copy(out, BATCH_HEADER_BYTES + at * ROW_BYTES))
  out.writeUInt32BE(crc32(out.subarray(4), fields.salt), 0)
  return out
}

/**
 * Whether the bytes at `at` are a batch header. A header is written once everything before it is
 * synced.
 */
export function isHeaderValid(bytes: Buffer, at: number, salt: number): boolean {
  return (
    crc32(bytes.subarray(at + 4, at + HEADER_CRC_AT), salt) ===
    bytes.readUInt32BE(at + HEADER_CRC_AT)
  )
}

/** Decodes a header without checking it. */
export function decodeBatchHeader(bytes: Buffer, at: number): BatchHeader {
  return {
    crc: bytes.readUInt32BE(at),
    length: bytes.readUInt32BE(at + 4),
    number: readU64(bytes, at + 8),
    previousCrc: bytes.readUInt32BE(at + 16),
    count: bytes.readUInt32BE(at + 20),
  }
}

/** `head` is the header and the table. */
export function isHeadValid(head: Buffer, salt: number): boolean {
  return crc32(head.subarray(4), salt) === head.readUInt32BE(0)
}

/** The length up to the next multiple of BATCH_ALIGNMENT. */
export function alignedLength(length: number): number {
  return Math.ceil(length / BATCH_ALIGNMENT) * BATCH_ALIGNMENT
}

export function segmentFileName(number: number): string {
  return `${number.toString(16).padStart(16, '0')}.journal`
}

/** Undefined for a file that is not a segment. */
export function segmentNumberOf(fileName: string): number | undefined {
  const digits = /^([0-9a-f]{16})\.journal$/.exec(fileName)?.[1]
  return digits === undefined ? undefined : Number.parseInt(digits, 16)
}

// Sequences and batch numbers stay below 2^53, so two words encode them without a BigInt.
function writeU64(out: Buffer, value: number, at: number): void {
  out.writeUInt32BE(Math.floor(value / 0x1_0000_0000), at)
  out.writeUInt32BE(value % 0x1_0000_0000, at + 4)
}

/** A value of 2^53 or more loses precision. Such a number is never valid. */
function readU64(bytes: Buffer, at: number): number {
  return bytes.readUInt32BE(at) * 0x1_0000_0000 + bytes.readUInt32BE(at + 4)
}
