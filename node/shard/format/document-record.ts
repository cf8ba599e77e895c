// A document as it lies on disk: a fixed header, then the JSON text that goes back to the client.
// Described in docs/formats/shard.md.
//
//   0  format (1)   1  flags (bit 0: deleted)   2  TTL generation, u16
//   4  version, u64   12  expires at, milliseconds since 1970, u64, 0 = never   20  JSON text

import { ServiceError } from '../../../lib/errors.ts'
import type { Timestamp } from '../../clock/hybrid-clock.ts'
import { readTimestamp, writeTimestamp } from '../../clock/timestamp-bytes.ts'

const FORMAT = 1
const FLAG_DELETED = 1
export const RECORD_HEADER_BYTES = 20

/** An encoded document record; the functions below read it in place. */
export type DocumentRecord = Buffer

export interface RecordHeader {
  readonly version: Timestamp
  readonly deleted: boolean
  /** Which TTL policy computed `expiresAtMs`; 0 when the table had none. */
  readonly ttlGeneration: number
  /** 0 means never. */
  readonly expiresAtMs: number
}

export function encodeRecord(header: RecordHeader, json: Uint8Array): DocumentRecord {
  const out = Buffer.allocUnsafe(RECORD_HEADER_BYTES + json.length)
  out[0] = FORMAT
  out[1] = header.deleted ? FLAG_DELETED : 0
  out.writeUInt16BE(header.ttlGeneration & 0xffff, 2)
  writeTimestamp(out, header.version, 4)
  out.writeUInt32BE(Math.floor(header.expiresAtMs / 0x1_0000_0000), 12)
  out.writeUInt32BE(header.expiresAtMs % 0x1_0000_0000, 16)
  out.set(json, RECORD_HEADER_BYTES)
  return out
}

const NO_JSON = Buffer.alloc(0)

export function encodeTombstone(version: Timestamp): DocumentRecord {
  return encodeRecord({ version, deleted: true, ttlGeneration: 0, expiresAtMs: 0 }, NO_JSON)
}

export function checkRecord(record: DocumentRecord): DocumentRecord {
  if (record.length < RECORD_HEADER_BYTES || record[0] !== FORMAT) {
    throw new ServiceError('CORRUPTION', `unknown document record format ${record[0] ?? 'none'}`)
  }
  return record
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
  return record.subarray(RECORD_HEADER_BYTES)
}
