// Reads blocks of packed numbers (encoding/bit-packing.ts) by whole words instead of bit by bit: searches of frequent
// terms spend most of their time here. A word is read at any byte, so that the number at bit `b` begins in the word at
// byte `b >>> 3`. The last words of a block reach up to three bytes over its end.

import { BLOCK_LENGTH, packedBytes, unpackBlock } from '../../encoding/bit-packing.ts'

const WORD_BYTES = 4
/** Eight numbers of up to 4 bits lie in one word, and four of up to 8 bits. */
const EIGHTH_BITS = 4
const QUARTER_BITS = 8
/** A number of more bits may not lie in the word that it begins in, at its bit 7. */
const WORD_BITS_MAX = 25

/** Bytes, and the same as words. */
export interface ReadableBytes {
  readonly view: Uint8Array
  readonly words: DataView
}

/** Writes 128 values, as `unpackBlock` does. */
export function unpackFast(from: ReadableBytes, at: number, bits: number, out: Uint32Array): void {
  const { view, words } = from
  const isInside = at + packedBytes(bits) + WORD_BYTES <= words.byteLength
  if (bits === 0 || bits > WORD_BITS_MAX || !isInside) unpackBlock(view, at, bits, out)
  else if (bits <= EIGHTH_BITS) unpackEights(words, at, bits, out)
  else if (bits <= QUARTER_BITS) unpackFours(words, at, bits, out)
  else unpackEach(words, at, bits, out)
}

function unpackEights(words: DataView, from: number, bits: number, out: Uint32Array): void {
  const mask = (1 << bits) - 1
  let at = from
  for (let i = 0; i < BLOCK_LENGTH; i += 8) {
    const low = words.getInt32(at, true)
    const high = low >>> (4 * bits)
    out[i] = low & mask
    out[i + 1] = (low >>> bits) & mask
    out[i + 2] = (low >>> (2 * bits)) & mask
    out[i + 3] = (low >>> (3 * bits)) & mask
    out[i + 4] = high & mask
    out[i + 5] = (high >>> bits) & mask
    out[i + 6] = (high >>> (2 * bits)) & mask
    out[i + 7] = (high >>> (3 * bits)) & mask
    at += bits
  }
}

/** Four numbers begin at bit 0 or 4 of a byte, the latter only of numbers of five or seven bits. */
function unpackFours(words: DataView, from: number, bits: number, out: Uint32Array): void {
  const mask = (1 << bits) - 1
  for (let i = 0; i < BLOCK_LENGTH; i += 4) {
    const bit = i * bits
    const word = words.getInt32(from + (bit >>> 3), true) >>> (bit & 7)
    out[i] = word & mask
    out[i + 1] = (word >>> bits) & mask
    out[i + 2] = (word >>> (2 * bits)) & mask
    out[i + 3] = (word >>> (3 * bits)) & mask
  }
}

function unpackEach(words: DataView, from: number, bits: number, out: Uint32Array): void {
  const mask = (1 << bits) - 1
  for (let i = 0; i < BLOCK_LENGTH; i += 1) {
    const bit = i * bits
    out[i] = (words.getInt32(from + (bit >>> 3), true) >>> (bit & 7)) & mask
  }
}
