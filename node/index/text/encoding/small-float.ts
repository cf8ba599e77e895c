// Field lengths in one byte, as Lucene's SmallFloat.intToByte4: exact up to 40, then four
// significant bits. One byte makes the length part of BM25 a table of 256 entries.

/** Values below this are their own byte: 255 less the code of the largest 32-bit integer. */
const EXACT_COUNT = 24

/** 0 only for 0. */
export function byteOfLength(length: number): number {
  if (length < EXACT_COUNT) return length
  const rest = Math.min(length, 0x7fffffff) - EXACT_COUNT
  const bitCount = 32 - Math.clz32(rest)
  if (bitCount < 4) return EXACT_COUNT + rest
  const shift = bitCount - 4
  return EXACT_COUNT + (((rest >>> shift) & 7) | ((shift + 1) << 3))
}

/** The smallest length that has this byte. */
export function lengthOfByte(byte: number): number {
  if (byte < EXACT_COUNT) return byte
  const code = byte - EXACT_COUNT
  const shift = (code >>> 3) - 1
  return EXACT_COUNT + (shift < 0 ? code & 7 : ((code & 7) | 8) * 2 ** shift)
}
