import { must } from '../../lib/assert.ts'
import { hashOfName } from '../document/json-scanner.ts'

/** A power of two. */
const MAPS = 256

/** Digests and where each was first seen, in many maps: a large one stands still when it grows. */
export class DigestSet {
  readonly #maps = Array.from({ length: MAPS }, () => new Map<string, number>())

  /** The place where the digest was first seen; undefined if it is new. */
  add(digest: string, place: number): number | undefined {
    const map = must(this.#maps[hashOfName(digest) & (MAPS - 1)], 'a map for every hash')
    const earlier = map.get(digest)
    if (earlier === undefined) map.set(digest, place)
    return earlier
  }
}
