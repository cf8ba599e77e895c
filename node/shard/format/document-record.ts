// A document as it lies on disk: a fixed header, then the JSON text that goes back to the client.
// Described in docs/reference/formats/shard.md.
//
//   0  format   1  flags (bit 0: deleted)   2  TTL generation, u16
//   4  version, u64   12  expires at, milliseconds since 1970, u64, 0 = never
//   format 1:  20  JSON text        format 2:  20  ordinal, u32   24  JSON text

import { ServiceError } from '../../../lib/errors.ts'
import type { Timestamp } from '../../clock/hybrid-clock.ts'
import { readTimestamp, writeTimestamp } from '../../clock/timestamp-bytes.ts'

const FORMAT_PLAIN = 1
const FORMAT_NUMBERED = 2
const FLAG_DELETED = 1
/** The ordinal of a numbered record lies behind these bytes. */
const PLAIN_HEADER_BYTES = 20
const NUMBERED_HEADER_BYTES = 24

/** A shard gives its documents the ordinals below this. */
export const ORDINAL_END = 0xffff_ffff

/** An encoded document record; the functions below read it in place. */
export type DocumentRecord = Buffer

/** The fields of a record before its JSON text. */
export interface RecordHeader {
  readonly version: Timestamp
  readonly deleted: boolean
  /** The generation of the TTL policy that computed `expiresAtMs`; 0 when the table had none. */
  readonly ttlGeneration: number
  /** 0 means never. */
  readonly expiresAtMs: number
  /** Names the document inside its shard; absent for tombstones and documents without one. */
  readonly ordinal?: number | undefined
}

export function encodeRecord(header: RecordHeader, json: Uint8Array): DocumentRecord {
  const { ordinal } = header
  const isNumbered = ordinal !== undefined
  const headerBytes = isNumbered ? NUMBERED_HEADER_BYTES : PLAIN_HEADER_BYTES
  const out = Buffer.allocUnsafe(headerBytes + json.length)
  out[0] = isNumbered ? FORMAT_NUMBERED : FORMAT_PLAIN
  out[1] = header.deleted ? FLAG_DELETED : 0
  out.writeUInt16BE(header.ttlGeneration & 0xffff, 2)
  writeTimestamp(out, header.version, 4)
  out.writeUInt32BE(Math.floor(header.expiresAtMs / 0x1_0000_0000), 12)
  out.writeUInt32BE(header.expiresAtMs % 0x1_0000_0000, 16)
  if (isNumbered) out.writeUInt32BE(ordinal, PLAIN_HEADER_BYTES)
  out.set(json, headerBytes)
  return out
}

const NO_JSON = Buffer.alloc(0)

export function encodeTombstone(version: Timestamp): DocumentRecord {
  return encodeRecord({ version, deleted: true, ttlGeneration: 0, expiresAtMs: 0 }, NO_JSON)
}

export function checkRecord(record: DocumentRecord): DocumentRecord {
  const [format] = record
  const isKnown = format === FORMAT_PLAIN || format === FORMAT_NUMBERED
  if (!isKnown || record.length < headerBytesOf(format)) {
    throw new ServiceError('CORRUPTION', `unknown document record format ${format ?? 'none'}`)
  }
  return record
}

/** How long the header is that begins with this byte. */
export function headerBytesOf(format: number): number {
  return format === FORMAT_NUMBERED ? NUMBERED_HEADER_BYTES : PLAIN_HEADER_BYTES
}

/** The record without its JSON text. */
export function headerOf(record: DocumentRecord): Buffer {
  return record.subarray(0, headerBytesOf(record[0] ?? 0))
}

export function versionOf(record: DocumentRecord): Timestamp {
  return readTimestamp(record, 4)
}

export function isDeleted(record: DocumentRecord): boolean {
  return ((record[1] ?? 0) & FLAG_DELETED) !== 0
}

export function ttlGenerationOf(record: DocumentRecord): number {
  return record.readUInt16BE(2)
}

export function expiresAtMsOf(record: DocumentRecord): number {
  return record.readUInt32BE(12) * 0x1_0000_0000 + record.readUInt32BE(16)
}

export function jsonOf(record: DocumentRecord): Buffer {
  return record.subarray(headerBytesOf(record[0] ?? 0))
}

/** Undefined for a record without one. */
export function ordinalOf(record: DocumentRecord): number | undefined {
  return record[0] === FORMAT_NUMBERED ? record.readUInt32BE(PLAIN_HEADER_BYTES) : undefined
}

/** The same document with an ordinal. */
export function withOrdinal(record: DocumentRecord, ordinal: number): DocumentRecord {
  const header = {
    version: versionOf(record),
    deleted: false,
    ttlGeneration: ttlGenerationOf(record),
    expiresAtMs: expiresAtMsOf(record),
    ordinal,
  }
  return encodeRecord(header, jsonOf(record))
}
