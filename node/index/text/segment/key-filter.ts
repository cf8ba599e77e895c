// A Bloom filter over the keys of a segment: an update asks every segment whether it has the key,
// and nearly all deny it without a read. With ten bits a key and six probes, about one answer in
// 120 is a false positive.

const BITS_PER_KEY = 10
const PROBES = 6

export function newKeyFilter(keyCount: number): Uint8Array {
  return new Uint8Array(Math.max(8, Math.ceil((keyCount * BITS_PER_KEY) / 8)))
}

/** FNV-1a with a last mix, of a key held as one code unit a byte. */
export function hashOfKey(key: string): number {
  let hash = 0x811c9dc5
  for (let i = 0; i < key.length; i += 1) hash = Math.imul(hash ^ key.charCodeAt(i), 0x01000193)
  hash = Math.imul(hash ^ (hash >>> 15), 0x85ebca6b)
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35)
  return (hash ^ (hash >>> 16)) >>> 0
}

export function addToFilter(filter: Uint8Array, hash: number): void {
  const bits = filter.length * 8
  const step = (hash >>> 17) | 1
  for (let i = 0; i < PROBES; i += 1) {
    const bit = (hash + i * step) % bits
    filter[bit >>> 3] = (filter[bit >>> 3] ?? 0) | (1 << (bit & 7))
  }
}

export function mayHaveKey(filter: Uint8Array, hash: number): boolean {
  const bits = filter.length * 8
  const step = (hash >>> 17) | 1
  for (let i = 0; i < PROBES; i += 1) {
    const bit = (hash + i * step) % bits
    if (((filter[bit >>> 3] ?? 0) & (1 << (bit & 7))) === 0) return false
  }
  return true
}
