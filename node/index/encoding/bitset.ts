// Sets of documents of one segment: bit `doc & 31` of word `doc >>> 5`.

export type Bitset = Uint32Array

export function newBitset(docCount: number): Bitset {
  return new Uint32Array((docCount + 31) >>> 5)
}

export function hasBit(bits: Bitset, doc: number): boolean {
  return (((bits[doc >>> 5] ?? 0) >>> (doc & 31)) & 1) === 1
}

export function setBit(bits: Bitset, doc: number): void {
  bits[doc >>> 5] = (bits[doc >>> 5] ?? 0) | (1 << (doc & 31))
}

/** Adds the first `count` of `docs`. */
export function setBits(bits: Bitset, docs: Uint32Array, count: number): void {
  for (let i = 0; i < count; i += 1) setBit(bits, docs[i] ?? 0)
}

/** The first member at or behind `from`; `docCount` if there is none. */
export function nextBit(bits: Bitset, from: number, docCount: number): number {
  let word = from >>> 5
  if (word >= bits.length) return docCount
  let rest = ((bits[word] ?? 0) >>> (from & 31)) << (from & 31)
  while (rest === 0) {
    word += 1
    if (word >= bits.length) return docCount
    rest = bits[word] ?? 0
  }
  return Math.min(docCount, word * 32 + 31 - Math.clz32(rest & -rest))
}

export function bitCount(bits: Bitset): number {
  let total = 0
  for (let i = 0; i < bits.length; i += 1) total += bitsIn(bits[i] ?? 0)
  return total
}

/** The number of members of `bits` that are also in each of `others`. */
export function bitCountOfAll(bits: Bitset, others: readonly Bitset[]): number {
  const [first = bits, ...rest] = others
  let total = 0
  for (let i = 0; i < bits.length; i += 1) {
    let word = (bits[i] ?? 0) & (first[i] ?? 0)
    for (let k = 0; k < rest.length; k += 1) word &= rest[k]?.[i] ?? 0
    total += bitsIn(word)
  }
  return total
}

/** By the halving sums of Hacker's Delight, 5-1. */
function bitsIn(bits: number): number {
  let word = bits - ((bits >>> 1) & 0x55555555)
  word = (word & 0x33333333) + ((word >>> 2) & 0x33333333)
  word = (word + (word >>> 4)) & 0x0f0f0f0f
  return Math.imul(word, 0x01010101) >>> 24
}

/** Every document, the unused bits of the last word clear. */
export function fullBitset(docCount: number): Bitset {
  const bits = newBitset(docCount).fill(0xffffffff)
  if ((docCount & 31) !== 0) bits[bits.length - 1] = 2 ** (docCount & 31) - 1
  return bits
}

/** Keeps in `bits` what is also in `other`. */
export function intersect(bits: Bitset, other: Bitset): void {
  for (let i = 0; i < bits.length; i += 1) bits[i] = (bits[i] ?? 0) & (other[i] ?? 0)
}

/** Adds to `bits` what is in `other`. */
export function unite(bits: Bitset, other: Bitset): void {
  for (let i = 0; i < bits.length; i += 1) bits[i] = (bits[i] ?? 0) | (other[i] ?? 0)
}

/** Takes from `bits` what is in `other`, which may be the shorter one. */
export function subtract(bits: Bitset, other: Bitset): void {
  const words = Math.min(bits.length, other.length)
  for (let i = 0; i < words; i += 1) bits[i] = (bits[i] ?? 0) & ~(other[i] ?? 0)
}
