// Resolves lists of values, of which one is enough, as one set: of terms, or of numbers.

import { isBeyondDoubles, orderedTextOf } from '../../../document/decimal.ts'
import { CANONICAL } from '../analysis/fold-term.ts'
import { isDay } from '../../../schema/rfc3339.ts'
import type { QueryOf } from '../../../query/query-tree.ts'
import type { EngineQuery } from '../engine-query.ts'
import { EXACT_SUFFIX } from './field-names.ts'
import { NOTHING, refusal, type QueryContext } from './query-context.ts'
import { dateRange, toDateMs, toNumber } from './resolve-range.ts'
import { exactValue, hasTerms } from './resolve-text.ts'
import { anyOf } from './synonym-queries.ts'
import { listMatcher } from './term-matchers.ts'
import type { IndexedField } from './field-registry.ts'

/** Each day is a range of its own. */
const DAYS_MAX = 1024

export function resolveAnyOf(query: QueryOf<'any-of'>, context: QueryContext): EngineQuery {
  const field = context.field(query.field)
  if (field === undefined) return NOTHING
  const { values, boost } = query
  const [first = ''] = values
  if (hasTerms(field)) {
    // As the values of a keyword field are, and the term of `term`.
    const terms = field.kind === 'keyword' ? values.map((text) => CANONICAL.term(text)) : values
    return { kind: 'expand', field: field.indexField, matcher: listMatcher(terms), boost }
  }
  if (field.kind === 'number') return numbersOf(field, query)
  if (field.kind === 'date') return timesOf(field, query)
  return exactValue(field, first, boost, context)
}

function numbersOf({ indexField }: IndexedField, query: QueryOf<'any-of'>): EngineQuery {
  const doubles = new Set<number>()
  for (const text of query.values) {
    const number = toNumber(text, query.field ?? indexField)
    if (!isBeyondDoubles(text.trim())) doubles.add(number)
  }
  const matcher = listMatcher(query.values.map((text) => orderedTextOf(text.trim())))
  const exact = { field: indexField + EXACT_SUFFIX, matcher }
  return { ...rangeAround(doubles, indexField, query.boost), exact }
}

function timesOf(field: IndexedField, query: QueryOf<'any-of'>): EngineQuery {
  const { indexField } = field
  const name = query.field ?? indexField
  const days = [...new Set(query.values.filter(isDay))]
  if (days.length > DAYS_MAX) {
    throw refusal(name, `is asked for more than ${DAYS_MAX} days; use a range`)
  }
  const times = new Set<number>()
  for (const text of query.values) if (!isDay(text)) times.add(toDateMs(text, name))
  const ranges = days.map((day) => {
    const bounds = { min: day, max: day, inclusiveMin: true, inclusiveMax: true }
    return dateRange({ field, name, bounds, boost: query.boost })
  })
  return anyOf([...ranges, rangeAround(times, indexField, query.boost)])
}

function rangeAround(among: ReadonlySet<number>, field: string, boost: number) {
  let [min, max] = [Infinity, -Infinity]
  for (const value of among) {
    min = Math.min(min, value)
    max = Math.max(max, value)
  }
  return { kind: 'range', field, min, max, among, boost } as const
}
