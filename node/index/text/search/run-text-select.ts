// Answers which documents of one shard meet conditions, as a set of ordinals for other indexes of the
// shard. Runs in the index worker.

import { serialize } from 'node:v8'
import type { Sliced } from '../../../../lib/sliced.ts'
import { BoundedCache } from '../../encoding/bounded-cache.ts'
import type { SearchSnapshot } from '../engine/search-snapshot.ts'
import type { FieldMapping } from '../mapping/field-mapping.ts'
import { bytesOfOrdinals } from '../../host/ordinal-set.ts'
import type { Selection } from '../matching/select.ts'
import { ConditionResolver } from './condition-resolver.ts'
import type { MappedIndex } from './run-text-search.ts'
import type { TextConditions } from './text-search.ts'

/** The bytes of an entry without its set and its key. */
const ENTRY_BYTES = 300

/** The conditions of a selection. */
export interface TextSelectRequest {
  readonly conditions: TextConditions
  /** Documents that have expired by then are not in the set. */
  readonly nowMs: number
}

/** A selection, with warnings about its conditions. */
export interface TextSelection extends Selection {
  readonly warnings: readonly string[]
}

/**
 * Selections by conditions and state of the index, bounded by the bytes that they hold. One cache may
 * serve the indexes that share a `TextMemory`, which numbers their segments.
 */
export class SelectionCache extends BoundedCache<string, TextSelection> {
  readonly #mappings = new WeakMap<FieldMapping, number>()
  #nextMapping = 0

  /** A text that changes with the mapping and with the fields that it knows. */
  stateOf(mapping: FieldMapping): string {
    const known = this.#mappings.get(mapping)
    const number = known ?? this.#nextMapping
    if (known === undefined) {
      this.#nextMapping += 1
      this.#mappings.set(mapping, number)
    }
    return `${number}:${mapping.fieldCount}`
  }
}

/**
 * The documents that meet the conditions in the state of the index at the first step. A search with
 * the same conditions finds the same documents. Contract:
 * - Deleted and expired documents are not in it.
 * - It pauses in proportion to its work, as a search does, and may be abandoned at any pause.
 * - The cache shares a selection, so callers must not change its arrays.
 * - The same conditions over an unchanged index come from the cache; any write to the index, and any
 *   document that expires, makes a new selection.
 * - Throws INVALID_ARGUMENT for conditions that the fields of the index cannot answer.
 */
export function* runTextSelect(
  { index, mapping }: MappedIndex,
  request: TextSelectRequest,
  cache?: SelectionCache,
): Sliced<TextSelection> {
  const { conditions, nowMs } = request
  const snapshot = index.snapshot()
  try {
    if (cache === undefined) return yield* selectFrom(snapshot, mapping, request)
    const state = `${cache.stateOf(mapping)} ${snapshot.versionAt(nowMs)} `
    const key = state + serialize(conditions).toString('latin1')
    const known = cache.get(key)
    if (known !== undefined) return known
    const found = yield* selectFrom(snapshot, mapping, request)
    // Another caller may have cached it during a pause.
    if (!cache.has(key)) {
      cache.put(key, found, ENTRY_BYTES + key.length + bytesOfOrdinals(found.set))
    }
    return found
  } finally {
    snapshot.release()
  }
}

function* selectFrom(
  snapshot: SearchSnapshot,
  mapping: FieldMapping,
  { conditions, nowMs }: TextSelectRequest,
): Sliced<TextSelection> {
  const resolver = new ConditionResolver(snapshot, mapping)
  const match = yield* resolver.match(conditions, nowMs)
  const selection = yield* snapshot.select(match)
  return { ...selection, warnings: [...resolver.warnings] }
}
