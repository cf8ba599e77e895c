// What LevelDB keeps as the value of a key: a checksum of both, then the value. LevelDB does not compare its
// blocks with their checksums when it reads, and classic-level cannot ask it to.
// Described in docs/reference/formats/data-directory.md; golden bytes: test/golden/sealed-values.json.
//
//   0  mark 0xc5   1  CRC-32 of the key and then the value, u32, big-endian   5  value
//
// Data directories before format 5 have bare values. Those begin with a format number, a digit or a brace, or are
// empty, so none begins with a byte above 0x7f.

import { crc32 } from 'node:zlib'

const MARK = 0xc5
const BARE_MAX = 0x7f
/** How much longer a value is in the store. */
export const SEAL_BYTES = 5

/** The bytes to store under `key`: a copy of `value` behind its seal. */
export function sealValue(key: Uint8Array, value: Uint8Array): Buffer {
  const sealed = Buffer.allocUnsafe(SEAL_BYTES + value.length)
  sealed[0] = MARK
  sealed.writeUInt32BE(checksumOf(key, value), 1)
  sealed.set(value, SEAL_BYTES)
  return sealed
}

/**
 * The value in `stored`, without a copy. Undefined if the key or the value is not what was sealed. A bare value of
 * an earlier program is answered as it is.
 */
export function unsealValue(key: Uint8Array, stored: Buffer): Buffer | undefined {
  const [mark] = stored
  if (mark === undefined || mark <= BARE_MAX) return stored
  if (mark !== MARK || stored.length < SEAL_BYTES) return undefined
  const value = stored.subarray(SEAL_BYTES)
  return stored.readUInt32BE(1) === checksumOf(key, value) ? value : undefined
}

function checksumOf(key: Uint8Array, value: Uint8Array): number {
  return crc32(value, crc32(key))
}
