// Blocks of 128 small numbers, each in the same number of bits, least significant first, in
// little-endian words of 32 bits: `16 * bits` bytes.

export const BLOCK_LENGTH = 128
const BITS_MAX = 31

/** The bits that hold every one of the first 128 values; 0 when all are 0. Values < 2^31. */
export function bitsOf(values: Uint32Array): number {
  let union = 0
  for (let i = 0; i < BLOCK_LENGTH; i += 1) union |= values[i] ?? 0
  return 32 - Math.clz32(union)
}

export function packedBytes(bits: number): number {
  return (BLOCK_LENGTH / 8) * bits
}

export function packBlock(values: Uint32Array, bits: number, out: Uint8Array, at: number): void {
  let word = 0
  let filled = 0
  let next = at
  if (bits === 0) return
  for (let i = 0; i < BLOCK_LENGTH; i += 1) {
    const value = values[i] ?? 0
    word |= value << filled
    filled += bits
    if (filled < 32) continue
    out[next] = word
    out[next + 1] = word >>> 8
    out[next + 2] = word >>> 16
    out[next + 3] = word >>> 24
    next += 4
    filled -= 32
    word = filled === 0 ? 0 : value >>> (bits - filled)
  }
}

/** Writes 128 values; `bits` is at most 31. */
export function unpackBlock(bytes: Uint8Array, at: number, bits: number, out: Uint32Array): void {
  if (bits === 0) {
    out.fill(0, 0, BLOCK_LENGTH)
    return
  }
  const mask = bits === BITS_MAX ? 0x7fffffff : (1 << bits) - 1
  let next = at
  let word = 0
  let left = 0
  for (let i = 0; i < BLOCK_LENGTH; i += 1) {
    if (left >= bits) {
      out[i] = word & mask
      word >>>= bits
      left -= bits
      continue
    }
    const fresh =
      (bytes[next] ?? 0) |
      ((bytes[next + 1] ?? 0) << 8) |
      ((bytes[next + 2] ?? 0) << 16) |
      ((bytes[next + 3] ?? 0) << 24)
    next += 4
    const used = bits - left
    out[i] = (word | (fresh << left)) & mask
    word = fresh >>> used
    left = 32 - used
  }
}
