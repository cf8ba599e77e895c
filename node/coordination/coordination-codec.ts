// Keys and values of an embedded coordination store. Format: docs/formats/coordination.md.

import { ServiceError } from '../../lib/errors.ts'
import type { KvEntry, KvOp, KvRange } from '../storage/kv-store.ts'
import type { CoordinationEntry } from './coordination.ts'

/** `r` holds the revision of the last commit. */
export const REVISION_KEY = Buffer.from('r')
const ENTRY_PREFIX = 'e'
const REVISION_BYTES = 8

export function entryKey(key: string): Buffer {
  return Buffer.from(`${ENTRY_PREFIX}${key}`)
}

/** The range of the entries whose keys begin with `prefix`. */
export function entryRange(prefix: string): KvRange {
  const gte = entryKey(prefix)
  // UTF-8 has no byte 0xff, so this bound lies behind every key with the prefix.
  return { gte, lt: Buffer.concat([gte, Buffer.of(0xff)]) }
}

export function encodeRevision(revision: number): Buffer {
  const encoded = Buffer.alloc(REVISION_BYTES)
  encoded.writeBigUInt64BE(BigInt(revision))
  return encoded
}

export function decodeRevision(stored: Buffer | undefined): number {
  if (stored === undefined) return 0
  if (stored.length < REVISION_BYTES) {
    throw new ServiceError('CORRUPTION', 'a coordination record is too short; restore a backup')
  }
  return Number(stored.readBigUInt64BE())
}

export function encodeEntry(key: string, value: Uint8Array, modRevision: number): KvOp {
  const stored = Buffer.concat([encodeRevision(modRevision), value])
  return { type: 'put', key: entryKey(key), value: stored }
}

export function decodeEntry([key, stored]: KvEntry): CoordinationEntry {
  return {
    key: key.toString('utf8', ENTRY_PREFIX.length),
    value: stored.subarray(REVISION_BYTES),
    modRevision: decodeRevision(stored),
  }
}
