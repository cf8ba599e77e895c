import { must } from '../../lib/assert.ts'
import { hashOfName } from '../document/name-hash.ts'

/** A power of two. */
const MAPS = 256

/**
 * Digests, each with the place of its first occurrence. Many maps hold them, because a large map
 * stops the thread while it grows.
 */
export class DigestSet {
  readonly #maps = Array.from({ length: MAPS }, () => new Map<string, number>())

  /** Adds a digest. Answers the place of its first occurrence; undefined if the digest is new. */
  add(digest: string, place: number): number | undefined {
    const map = must(this.#maps[hashOfName(digest) & (MAPS - 1)], 'a map for every hash')
    const earlier = map.get(digest)
    if (earlier === undefined) map.set(digest, place)
    return earlier
  }
}
