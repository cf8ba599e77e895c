// Keys and values of an embedded coordination store. Format: docs/reference/formats/coordination.md.

import { ServiceError } from '../../lib/errors.ts'
import type { KvEntry, KvOp, KvRange } from '../storage/kv-store.ts'
import type { CoordinationEntry } from './coordination.ts'

/** `r` holds the revision of the last commit. */
export const REVISION_KEY = Buffer.from('r')
const ENTRY_PREFIX = 'e'
const CREATION_PREFIX = 'c'
const REVISION_BYTES = 8

export function entryKey(key: string): Buffer {
  return Buffer.from(`${ENTRY_PREFIX}${key}`)
}

export function creationKey(key: string): Buffer {
  return Buffer.from(`${CREATION_PREFIX}${key}`)
}

/** The range of the entries whose keys begin with `prefix`. */
export function entryRange(prefix: string): KvRange {
  return rangeFrom(entryKey(prefix))
}

/** The range of the creation records of these entries. */
export function creationRange(prefix: string): KvRange {
  return rangeFrom(creationKey(prefix))
}

function rangeFrom(gte: Buffer): KvRange {
  // UTF-8 has no byte 0xff, so this bound lies behind every key with the prefix.
  return { gte, lt: Buffer.concat([gte, Buffer.of(0xff)]) }
}

/** The key of a creation record, as `commit` took it. */
export function keyOfCreation(stored: Buffer): string {
  return stored.toString('utf8', CREATION_PREFIX.length)
}

export function encodeRevision(revision: number): Buffer {
  const encoded = Buffer.alloc(REVISION_BYTES)
  encoded.writeBigUInt64BE(BigInt(revision))
  return encoded
}

/** Decodes a revision; 0 if none is stored. Throws CORRUPTION for a short value. */
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

/** The record of an entry that was overwritten. It holds as long as nothing else writes the entry. */
export function encodeCreation(key: string, { createRevision, modRevision }: Revisions): KvOp {
  const value = Buffer.concat([encodeRevision(createRevision), encodeRevision(modRevision)])
  return { type: 'put', key: creationKey(key), value }
}

type Revisions = Pick<CoordinationEntry, 'createRevision' | 'modRevision'>

/** Decodes an entry with its creation record, which entries lack that were written once. */
export function decodeEntry(
  [key, stored]: KvEntry,
  creation: Buffer | undefined,
): CoordinationEntry {
  const modRevision = decodeRevision(stored)
  return {
    key: key.toString('utf8', ENTRY_PREFIX.length),
    value: stored.subarray(REVISION_BYTES),
    createRevision: createRevisionOf(creation, modRevision),
    modRevision,
  }
}

/** Programs before the creation records overwrite an entry alone, so its record may be out of date. */
function createRevisionOf(creation: Buffer | undefined, modRevision: number): number {
  const isCurrent =
    creation !== undefined && decodeRevision(creation.subarray(REVISION_BYTES)) === modRevision
  return isCurrent ? decodeRevision(creation) : modRevision
}
