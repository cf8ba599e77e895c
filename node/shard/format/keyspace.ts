// The keys of a shard's store. Described in docs/reference/formats/shard.md; golden keys in test/golden.
//
// Where something follows a document key, the key is escaped so that byte order is kept and no key
// is a prefix of another's records: 00 becomes 00 FF, and 00 01 ends it.

import { assert } from '../../../lib/assert.ts'
import { timestampOf, type Timestamp } from '../../clock/hybrid-clock.ts'
import type { KvRange } from '../../storage/kv-store.ts'
import {
  decodeTransactionId,
  encodeTransactionId,
  type TransactionId,
} from '../command/transaction-id.ts'
import type { KeyRange } from '../command/key-range.ts'

export const KEYSPACES = {
  meta: 0x01,
  log: 0x02,
  documents: 0x03,
  history: 0x04,
  intents: 0x05,
  transactions: 0x06,
  expiry: 0x07,
  finished: 0x08,
  artifacts: 0x09,
  parked: 0x0a,
} as const

export type Keyspace = keyof typeof KEYSPACES

/** The TTL generation that every document has been given (see retimeDocuments). */
export const RETIMED_KEY = Buffer.concat([Buffer.from([KEYSPACES.meta]), Buffer.from('retimed')])

/** Present while there may be documents without an ordinal (see housekeeping/numbering.ts). */
export const UNNUMBERED_KEY = Buffer.concat([
  Buffer.from([KEYSPACES.meta]),
  Buffer.from('unnumbered'),
])

/** How far the log has been applied (see applied-position.ts). */
export const APPLIED_KEY = Buffer.concat([Buffer.from([KEYSPACES.meta]), Buffer.from('applied')])

/** A timestamp: readers below it may miss what was collected (see housekeeping/history-collection.ts). */
export const COLLECTED_KEY = Buffer.concat([
  Buffer.from([KEYSPACES.meta]),
  Buffer.from('collected'),
])

const ESCAPE = 0x00
const ESCAPED_ZERO = 0xff
const TERMINATOR = 0x01
/** UTF-8 has no such byte. */
const AFTER_EVERY_KEY = Buffer.from([0xff])
const NO_KEY = Buffer.alloc(0)
const VERSION_MASK = 0xffff_ffff_ffff_ffffn

export function keyspaceRange(keyspace: Keyspace): { gte: Buffer; lt: Buffer } {
  const byte = KEYSPACES[keyspace]
  return { gte: Buffer.from([byte]), lt: Buffer.from([byte + 1]) }
}

export function documentKey(key: Uint8Array): Buffer {
  const out = Buffer.allocUnsafe(key.length + 1)
  out[0] = KEYSPACES.documents
  out.set(key, 1)
  return out
}

/** The document's own key in a key of the documents keyspace. */
export function keyOfDocumentKey(stored: Buffer): Buffer {
  return stored.subarray(1)
}

export function documentRange({ start, end }: KeyRange): KvRange {
  return {
    gte: documentKey(start),
    lt: end === undefined ? keyspaceRange('documents').lt : documentKey(end),
  }
}

export function logKey(sequence: number): Buffer {
  const out = Buffer.allocUnsafe(9)
  out[0] = KEYSPACES.log
  // As two words: below 2^53, and on the way of every write.
  out.writeUInt32BE(Math.floor(sequence / 0x1_0000_0000), 1)
  out.writeUInt32BE(sequence % 0x1_0000_0000, 5)
  return out
}

export function sequenceOfLogKey(stored: Buffer): number {
  return Number(stored.readBigUInt64BE(1))
}

/** Newest first: the version is stored inverted, so a forward seek finds the latest at or below one. */
export function historyKey(key: Uint8Array, version: Timestamp): Buffer {
  const suffix = Buffer.allocUnsafe(8)
  suffix.writeBigUInt64BE(VERSION_MASK - version)
  return composeKey('history', key, suffix)
}

export function versionOfHistoryKey(stored: Buffer): Timestamp {
  return timestampOf(VERSION_MASK - stored.readBigUInt64BE(stored.length - 8))
}

/** All versions of `key` in history that are at or below `atMost`, newest first. */
export function historyRange(key: Uint8Array, atMost: Timestamp): KvRange {
  return { gte: historyKey(key, atMost), lte: historyKey(key, timestampOf(0n)) }
}

export function intentKey(key: Uint8Array, transactionId: TransactionId): Buffer {
  return composeKey('intents', key, encodeTransactionId(transactionId))
}

export function keyOfIntentKey(stored: Buffer): Buffer {
  return unescapeKey(stored, 1).key
}

export function transactionKey(anchor: Uint8Array, transactionId: TransactionId): Buffer {
  return composeKey('transactions', anchor, encodeTransactionId(transactionId))
}

export function parseTransactionKey(stored: Buffer): {
  anchor: Buffer
  transactionId: TransactionId
} {
  const { key, end } = unescapeKey(stored, 1)
  return { anchor: key, transactionId: decodeTransactionId(stored.subarray(end)) }
}

export function transactionIdOfFinishedKey(stored: Buffer): TransactionId {
  return decodeTransactionId(stored.subarray(1))
}

export function finishedKey(transactionId: TransactionId): Buffer {
  return Buffer.concat([Buffer.from([KEYSPACES.finished]), encodeTransactionId(transactionId)])
}

export function expiryKey(expiresAtMs: number, key: Uint8Array): Buffer {
  const out = Buffer.allocUnsafe(9 + key.length)
  out[0] = KEYSPACES.expiry
  out.writeBigUInt64BE(BigInt(expiresAtMs), 1)
  out.set(key, 9)
  return out
}

export function parseExpiryKey(stored: Buffer): { expiresAtMs: number; key: Buffer } {
  return { expiresAtMs: Number(stored.readBigUInt64BE(1)), key: stored.subarray(9) }
}

const INDEX_ID_BYTES = 8

/** The keyspaces whose keys are an index and a document. */
export type IndexKeyspace = 'artifacts' | 'parked'

/** `index` is the id of an index, 16 hexadecimal digits. */
export function artifactKey(index: string, key: Uint8Array): Buffer {
  return indexedKey('artifacts', index, key)
}

/** The key of the mark that the document's artifact is parked. */
export function parkedKey(index: string, key: Uint8Array): Buffer {
  return indexedKey('parked', index, key)
}

/** Reads a key of the artifacts and of the parked keyspace. */
export function parseIndexedKey(stored: Buffer): { index: string; key: Buffer } {
  const end = 1 + INDEX_ID_BYTES
  return { index: stored.toString('hex', 1, end), key: stored.subarray(end) }
}

/** What one index has in the keyspace. */
export function indexedRange(keyspace: IndexKeyspace, index: string): { gte: Buffer; lt: Buffer } {
  const gte = indexedKey(keyspace, index, NO_KEY)
  return { gte, lt: Buffer.concat([gte, AFTER_EVERY_KEY]) }
}

function indexedKey(keyspace: IndexKeyspace, index: string, key: Uint8Array): Buffer {
  const out = Buffer.allocUnsafe(1 + INDEX_ID_BYTES + key.length)
  out[0] = KEYSPACES[keyspace]
  assert(out.write(index, 1, 'hex') === INDEX_ID_BYTES, 'an index id has 16 hexadecimal digits')
  out.set(key, 1 + INDEX_ID_BYTES)
  return out
}

const PROGRESS_PREFIX = Buffer.concat([Buffer.from([KEYSPACES.meta]), Buffer.from('enriched ')])

/** How far the artifacts of an index have been made (see enrichment-progress.ts). */
export function progressKey(index: string): Buffer {
  return Buffer.concat([PROGRESS_PREFIX, Buffer.from(index)])
}

/** The keys of all indexes' progress. */
export const PROGRESS_RANGE = {
  gte: PROGRESS_PREFIX,
  lt: Buffer.concat([PROGRESS_PREFIX, AFTER_EVERY_KEY]),
}

export function indexOfProgressKey(stored: Buffer): string {
  return stored.toString('latin1', PROGRESS_PREFIX.length)
}

function composeKey(keyspace: Keyspace, key: Uint8Array, suffix: Uint8Array): Buffer {
  const zeros = countZeros(key)
  const out = Buffer.allocUnsafe(1 + key.length + zeros + 2 + suffix.length)
  out[0] = KEYSPACES[keyspace]
  const end = escapeInto(out, key, 1)
  out[end] = ESCAPE
  out[end + 1] = TERMINATOR
  out.set(suffix, end + 2)
  return out
}

function countZeros(key: Uint8Array): number {
  let zeros = 0
  for (const byte of key) if (byte === 0) zeros++
  return zeros
}

function escapeInto(out: Buffer, key: Uint8Array, from: number): number {
  let at = from
  for (const byte of key) {
    out[at++] = byte
    if (byte === ESCAPE) out[at++] = ESCAPED_ZERO
  }
  return at
}

/** Reads an escaped key that begins at `from`; `end` is where its terminator ends. */
function unescapeKey(stored: Buffer, from: number): { key: Buffer; end: number } {
  const out = Buffer.allocUnsafe(stored.length)
  let length = 0
  let at = from
  for (;;) {
    const byte = stored[at++]
    assert(byte !== undefined, 'an escaped key has a terminator')
    if (byte === ESCAPE && stored[at++] === TERMINATOR) break
    out[length++] = byte
  }
  return { key: out.subarray(0, length), end: at }
}
