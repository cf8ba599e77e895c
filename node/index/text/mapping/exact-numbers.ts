// Numbers that a double cannot carry. Columns hold doubles. A document with a number of more digits
// has all numbers of the field once more, as terms of a field beside it, which ascend with the numbers:
//
//   {"n": [5, 9007199254740993]}   column n: 5, 9007199254740992   terms of n + EXACT_SUFFIX: both, exactly
//
// So doubles answer for documents without such terms, and terms for the others.

import { compareDecimals, orderedTextOf } from '../../../document/decimal.ts'
import type { QueryBounds } from '../../../query/query-tree.ts'
import { EXACT_SUFFIX } from './field-names.ts'
import { termRangeMatcher } from './term-matchers.ts'
import type { EngineQuery } from '../engine-query.ts'

type Range = Extract<EngineQuery, { readonly kind: 'range' }>

/** The range of decimals, which are texts. A bound may be any number that a double is near to. */
export function decimalRange(
  { field, boost }: Pick<Range, 'field' | 'boost'>,
  { min, max, inclusiveMin, inclusiveMax }: QueryBounds<string>,
): EngineQuery {
  const isPoint = min !== undefined && max !== undefined && compareDecimals(min, max) === 0
  if (isPoint && !(inclusiveMin && inclusiveMax)) return { kind: 'none' }
  const low = min === undefined ? -Infinity : doubleBeside(min, inclusiveMin, 1)
  const high = max === undefined ? Infinity : doubleBeside(max, inclusiveMax, -1)
  const terms = termRangeMatcher({
    min: min === undefined ? undefined : orderedTextOf(min),
    max: max === undefined ? undefined : orderedTextOf(max),
    inclusiveMin,
    inclusiveMax,
  })
  const exact = { field: field + EXACT_SUFFIX, matcher: terms }
  return { kind: 'range', field, min: low, max: high, boost, exact }
}

/** The first double of the range from the bound on, in the direction: 1 for up, -1 for down. */
function doubleBeside(bound: string, isInclusive: boolean, direction: 1 | -1): number {
  const nearest = Number(bound)
  if (!Number.isFinite(nearest)) return nearest
  const side = compareDecimals(String(nearest), bound) * direction
  const isInside = side > 0 || (side === 0 && isInclusive)
  return isInside ? nearest : nextDouble(nearest, direction)
}

/** The next double above (1) or below (-1). The bits of doubles ascend with their magnitude. */
export function nextDouble(value: number, direction: 1 | -1): number {
  if (!Number.isFinite(value)) return value
  if (value === 0) return direction * Number.MIN_VALUE
  const view = new DataView(new ArrayBuffer(8))
  view.setFloat64(0, value)
  const isAway = value > 0 === direction > 0
  view.setBigInt64(0, view.getBigInt64(0) + (isAway ? 1n : -1n))
  return view.getFloat64(0)
}

/**
 * The query over segments of which `hasField` tells whether one of them has a field: where no document has more
 * digits than doubles, ranges stay ranges.
 */
export function withExactNumbers(
  query: EngineQuery,
  hasField: (name: string) => boolean,
): EngineQuery {
  const inside = (one: EngineQuery): EngineQuery => withExactNumbers(one, hasField)
  if (query.kind === 'boolean') {
    return {
      ...query,
      must: query.must.map(inside),
      should: query.should.map(inside),
      mustNot: query.mustNot.map(inside),
      filter: query.filter.map(inside),
    }
  }
  if (query.kind === 'best') return { ...query, parts: query.parts.map(inside) }
  const isExact = query.kind === 'range' && query.exact !== undefined && hasField(query.exact.field)
  return isExact ? withTerms(query) : query
}

/** Doubles answer for documents without terms, and terms for the others. */
function withTerms({ exact, ...doubles }: Range): EngineQuery {
  if (exact === undefined) return doubles
  const { field, matcher } = exact
  const others = {
    ...NO_PARTS,
    must: [doubles],
    mustNot: [{ kind: 'exists', field, boost: 1 }],
  } as const
  const terms = { kind: 'expand', field, matcher, boost: doubles.boost } as const
  return { ...NO_PARTS, should: [others, terms], minShould: 1 }
}

const NO_PARTS = {
  kind: 'boolean',
  must: [],
  should: [],
  minShould: 0,
  mustNot: [],
  filter: [],
  boost: 1,
} as const satisfies EngineQuery
