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
