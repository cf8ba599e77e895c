// The documents of a segment that a search may find: live ones that no filter leaves out.

import type { Sliced } from '../../../../lib/sliced.ts'
import { fullBitset, intersect, subtract, type Bitset } from '../../encoding/bitset.ts'
import type { LiveSegment } from '../live/live-segment.ts'
import type { EngineQuery } from '../engine-query.ts'
import type { QueryCompiler } from './query-compiler.ts'

/**
 * The conditions that a document must meet without a score: all of `filters`, none of `excluded`,
 * and not expired at `nowMs`, in milliseconds since 1970.
 */
export interface Conditions {
  readonly filters: readonly EngineQuery[]
  readonly excluded: readonly EngineQuery[]
  readonly nowMs: number
}

/** Whether every document that is not deleted is accepted. */
export function acceptsLive(live: LiveSegment, { filters, excluded, nowMs }: Conditions): boolean {
  const hasConditions = filters.length > 0 || excluded.length > 0
  return !hasConditions && live.expiredAt(nowMs) === undefined
}

/** Whether every document is accepted. Then no set need be gathered. */
export function acceptsAll(live: LiveSegment, conditions: Conditions): boolean {
  return live.log.length === 0 && acceptsLive(live, conditions)
}

/** The documents that are neither deleted nor expired nor filtered out. */
export function* acceptedDocuments(
  live: LiveSegment,
  compiler: QueryCompiler,
  { filters, excluded, nowMs }: Conditions,
): Sliced<Bitset> {
  const [first, ...others] = filters
  const { docCount } = live.segment
  const bits = first === undefined ? fullBitset(docCount) : yield* compiler.set(first)
  for (const query of others) intersect(bits, yield* compiler.set(query))
  for (const query of excluded) subtract(bits, yield* compiler.set(query))
  const expired = live.expiredAt(nowMs)
  if (expired !== undefined) subtract(bits, expired)
  if (live.log.length > 0) subtract(bits, live.deleted)
  return bits
}
