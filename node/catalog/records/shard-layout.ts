// How the key space of a new table is divided among its shards.

import { ServiceError } from '../../../lib/errors.ts'
import { at, parseDocumentKey } from '../../document/document-limits.ts'
import type { KeyRange } from '../../shard/command/key-range.ts'

// Keys are mostly written in letters and digits, so an even split of the byte space would leave most
// shards empty. Splitting the two-character combinations of this alphabet spreads random identifiers
// evenly. A client that knows its keys better gives `split_keys`.
const ALPHABET = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'

/**
 * How a client wants its table divided. An absent number follows from the keys; with neither it is
 * 1.
 */
export interface LayoutRequest {
  readonly numShards: number | undefined
  readonly splitKeys: readonly string[] | undefined
}

/** Ranges in key order that cover every key once. Throws INVALID_ARGUMENT naming the field. */
export function buildLayout(
  { numShards, splitKeys }: LayoutRequest,
  shardsMax: number,
): readonly KeyRange[] {
  const count = numShards ?? (splitKeys === undefined ? 1 : splitKeys.length + 1)
  if (!Number.isInteger(count) || count < 1 || count > shardsMax) {
    const problem =
      numShards === undefined
        ? `split_keys makes ${count} shards, but a table of this store has at most ${shardsMax}`
        : `num_shards must be from 1 to ${shardsMax}, not ${count}`
    throw new ServiceError('INVALID_ARGUMENT', problem)
  }
  const boundaries = splitKeys === undefined ? evenBoundaries(count) : parseSplitKeys(splitKeys)
  if (boundaries.length !== count - 1) {
    throw new ServiceError(
      'INVALID_ARGUMENT',
      `split_keys has ${boundaries.length} keys, which makes ${boundaries.length + 1} shards, ` +
        `but num_shards is ${count}; leave one of them out`,
    )
  }
  return [...boundaries, undefined].map((end, i) => ({
    start: boundaries[i - 1] ?? Buffer.alloc(0),
    end,
  }))
}

function evenBoundaries(count: number): readonly Buffer[] {
  const combinations = ALPHABET.length ** 2
  return Array.from({ length: count - 1 }, (_, i) => {
    const place = Math.floor(((i + 1) * combinations) / count)
    const text =
      ALPHABET.charAt(Math.floor(place / ALPHABET.length)) +
      ALPHABET.charAt(place % ALPHABET.length)
    return Buffer.from(text)
  })
}

function parseSplitKeys(splitKeys: readonly string[]): readonly Buffer[] {
  const keys = splitKeys.map((text, i) => at(`split_keys[${i}]`, () => parseDocumentKey(text)))
  for (const [i, key] of keys.entries()) {
    const before = keys[i - 1]
    if (before !== undefined && before.compare(key) >= 0) {
      throw new ServiceError(
        'INVALID_ARGUMENT',
        `split_keys[${i}]: keys must ascend in byte order, each only once`,
      )
    }
  }
  return keys
}
