// A hash of member names, over the bytes of their UTF-8. The scanner computes it while it reads a name.

export const HASH_SEED = 0x811c9dc5 | 0
export const HASH_FACTOR = 0x01000193

/** The hash that the scanner computes for this name. The name has no escapes. */
export function hashOfName(text: string): number {
  return hashOfBytes(Buffer.from(text, 'utf8'))
}

/** The hash of the name whose text is these bytes, without escapes. */
export function hashOfBytes(bytes: Buffer): number {
  let hash = HASH_SEED
  for (const byte of bytes) hash = Math.imul(hash ^ byte, HASH_FACTOR)
  return hash
}
