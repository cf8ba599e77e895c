// The `aggregations` of a query: summaries over all documents that the query matches. They may
// nest.

import { describeKind } from '../document/exact-json.ts'
import { parseFieldPath } from '../document/field-path.ts'
import { isJsonArray, isJsonObject, memberOf } from '../document/json-object.ts'
import { parseDurationMs } from '../schema/duration.ts'
import { METRES_BY_UNIT, parsePoint } from './language/parse-geo-queries.ts'
import { parseQuery } from './language/parse-query.ts'
import { parseDateMs } from '../schema/rfc3339.ts'
import {
  checkMembers,
  choiceOf,
  integerOf,
  listOf,
  parseNumber,
  parseText,
  shown,
} from './language/query-clause.ts'
import { buildClauseBudget, QUERY_CLAUSES_MAX, refuse } from './query-limits.ts'
import type { JsonValue } from '../document/exact-json.ts'
import type { Clause } from './language/query-clause.ts'
import type { GeoPoint } from '../geo/geo-point.ts'
import type { ClauseBudget } from './query-limits.ts'
import type { Query } from './query-tree.ts'

export const AGGREGATION_DEPTH_MAX = 5
export const AGGREGATIONS_MAX = 100
/** The limit of buckets in one result, over all levels. The executor counts them. */
export const AGGREGATION_BUCKETS_MAX = 65_536

const RANGES_MAX = 1024
const FIELDS_MAX = 16
const NAME_LENGTH_MAX = 256
const SIZE_DEFAULT = 10
const GEOHASH_PRECISION_DEFAULT = 5

const METRICS = ['sum', 'avg', 'min', 'max', 'count', 'sumsquares', 'stats', 'cardinality'] as const
export type Metric = (typeof METRICS)[number]

const CALENDAR_UNITS = ['minute', 'hour', 'day', 'week', 'month', 'quarter', 'year'] as const
export type CalendarUnit = (typeof CALENDAR_UNITS)[number]

const SIGNIFICANCE = ['jlh', 'mutual_information', 'chi_squared', 'percentage'] as const
export type Significance = (typeof SIGNIFICANCE)[number]

/** A range that includes `from` and excludes `to`. An undefined bound is open. */
export interface NamedRange<Value> {
  readonly name: string
  readonly from: Value | undefined
  readonly to: Value | undefined
}

/** A moment in ms since 1970, or an offset from the time of the query. */
export type DateBound =
  | { readonly kind: 'absolute'; readonly timeMs: number }
  | { readonly kind: 'from-now'; readonly offsetMs: number }

export type Aggregations = ReadonlyMap<string, AggregationRequest>

export type AggregationRequest =
  | { readonly kind: 'metric'; readonly metric: Metric; readonly field: string }
  | (BucketAggregation & { readonly sub: Aggregations })

/** Leaves out buckets with fewer documents than `minDocCount`. */
export type BucketAggregation =
  | {
      readonly kind: 'terms'
      /** The terms of all these fields are counted together. */
      readonly fields: readonly string[]
      readonly size: number
      readonly minDocCount: number
    }
  | {
      readonly kind: 'range'
      readonly field: string
      readonly ranges: readonly NamedRange<number>[]
    }
  | {
      readonly kind: 'date-range'
      readonly field: string
      readonly ranges: readonly NamedRange<DateBound>[]
    }
  | {
      readonly kind: 'histogram'
      readonly field: string
      readonly interval: number
      readonly minDocCount: number
    }
  | {
      readonly kind: 'date-histogram'
      readonly field: string
      readonly interval: DateInterval
      readonly minDocCount: number
    }
  | {
      readonly kind: 'geohash-grid'
      readonly field: string
      /** The length of the geohash in characters. */
      readonly precision: number
      readonly size: number
      readonly minDocCount: number
    }
  | {
      readonly kind: 'geo-distance'
      readonly field: string
      readonly origin: GeoPoint
      /** The bounds are in metres. */
      readonly ranges: readonly NamedRange<number>[]
    }
  | {
      readonly kind: 'significant-terms'
      readonly fields: readonly string[]
      readonly size: number
      readonly minDocCount: number
      readonly algorithm: Significance
      /** The documents to compare with; undefined means the whole table. */
      readonly background: Query | undefined
    }

export type DateInterval =
  | { readonly kind: 'calendar'; readonly unit: CalendarUnit }
  | { readonly kind: 'fixed'; readonly ms: number }

interface BucketForm {
  readonly members: readonly string[]
  readonly parse: (clause: Clause) => BucketAggregation
}

const BUCKETS: Readonly<Record<string, BucketForm>> = {
  terms: { members: ['field', 'fields', 'size', 'min_doc_count'], parse: parseTerms },
  range: { members: ['field', 'ranges'], parse: parseRanges },
  date_range: { members: ['field', 'date_ranges'], parse: parseDateRanges },
  histogram: { members: ['field', 'interval', 'min_doc_count'], parse: parseHistogram },
  date_histogram: {
    members: ['field', 'interval', 'calendar_interval', 'min_doc_count'],
    parse: parseDateHistogram,
  },
  geohash_grid: {
    members: ['field', 'precision', 'size', 'min_doc_count'],
    parse: parseGeohashGrid,
  },
  geo_distance: {
    members: ['field', 'origin', 'distance_ranges', 'unit'],
    parse: parseGeoDistances,
  },
  significant_terms: {
    members: ['field', 'fields', 'size', 'min_doc_count', 'algorithm', 'background_filter'],
    parse: parseSignificantTerms,
  },
}

export function parseAggregations(value: JsonValue, where: string): Aggregations {
  return parseLevel(value, { where, depth: 1, budget: aggregationBudget() })
}

/** All background filters share one budget of text. Each of them has its own budget of clauses. */
function aggregationBudget(): ClauseBudget {
  return { ...buildClauseBudget(), clausesLeft: AGGREGATIONS_MAX }
}

function parseBackground(value: JsonValue, { where, budget }: Clause): Query {
  const own = { ...budget, clausesLeft: QUERY_CLAUSES_MAX }
  const query = parseQuery(value, `${where}.background_filter`, own)
  Object.assign(budget, { ...own, clausesLeft: budget.clausesLeft })
  return query
}

function parseLevel(value: JsonValue, at: Omit<Clause, 'members'>): Aggregations {
  const { where, depth, budget } = at
  if (!isJsonObject(value)) return refuse(where, `must be an object, not ${describeKind(value)}`)
  if (depth > AGGREGATION_DEPTH_MAX) {
    refuse(where, `aggregations may be nested ${AGGREGATION_DEPTH_MAX} levels deep at most`)
  }
  const parsed = new Map<string, AggregationRequest>()
  for (const [name, request] of Object.entries(value)) {
    const place = `${where}.${name.slice(0, NAME_LENGTH_MAX)}`
    if (name === '' || name.length > NAME_LENGTH_MAX) {
      refuse(where, `a name must have 1 to ${NAME_LENGTH_MAX} characters`)
    }
    budget.clausesLeft--
    if (budget.clausesLeft < 0) {
      refuse(place, `a query may have at most ${AGGREGATIONS_MAX} aggregations`)
    }
    if (!isJsonObject(request)) refuse(place, `must be an object, not ${describeKind(request)}`)
    parsed.set(name, parseAggregation({ ...at, members: request, where: place }))
  }
  return parsed
}

function parseAggregation(clause: Clause): AggregationRequest {
  const { members, where } = clause
  const type = memberOf(members, 'type')
  const metric = METRICS.find((name) => name === type)
  if (metric !== undefined) {
    checkMembers(clause, ['type', 'field'])
    return { kind: 'metric', metric, field: fieldOf(clause) }
  }
  const form = typeof type === 'string' && Object.hasOwn(BUCKETS, type) ? BUCKETS[type] : undefined
  if (form === undefined) {
    const known = [...METRICS, ...Object.keys(BUCKETS)].join(', ')
    return refuse(`${where}.type`, `must be one of ${known}`)
  }
  checkMembers(clause, ['type', ...form.members, 'sub_aggregations'])
  return { ...form.parse(clause), sub: parseSub(clause) }
}

function parseSub({ members, where, depth, budget }: Clause): Aggregations {
  const sub = memberOf(members, 'sub_aggregations') ?? {}
  return parseLevel(sub, { where: `${where}.sub_aggregations`, depth: depth + 1, budget })
}

function parseTerms(clause: Clause): BucketAggregation {
  return { kind: 'terms', fields: fieldsOf(clause), ...sizeOf(clause), ...minDocCountOf(clause) }
}

function parseRanges(clause: Clause): BucketAggregation {
  return { kind: 'range', field: fieldOf(clause), ranges: numberRangesOf(clause, 'ranges', 1) }
}

function parseDateRanges(clause: Clause): BucketAggregation {
  const ranges = rangesOf(clause, 'date_ranges', parseDateBound)
  return { kind: 'date-range', field: fieldOf(clause), ranges }
}

function parseHistogram(clause: Clause): BucketAggregation {
  const where = `${clause.where}.interval`
  const interval = parseNumber(memberOf(clause.members, 'interval'), where)
  if (interval <= 0) refuse(where, 'must be above 0')
  return { kind: 'histogram', field: fieldOf(clause), interval, ...minDocCountOf(clause) }
}

function parseDateHistogram(clause: Clause): BucketAggregation {
  const { members, where } = clause
  const field = fieldOf(clause)
  const unit = choiceOf(clause, 'calendar_interval', CALENDAR_UNITS)
  const interval = memberOf(members, 'interval')
  if ((unit === undefined) === (interval === undefined)) {
    refuse(where, 'needs either calendar_interval, such as "month", or interval, such as "12h"')
  }
  if (unit !== undefined) {
    const calendar: DateInterval = { kind: 'calendar', unit }
    return { kind: 'date-histogram', field, interval: calendar, ...minDocCountOf(clause) }
  }
  const ms = parseDurationMs(parseText(interval, `${where}.interval`), `${where}.interval`)
  const fixed: DateInterval = { kind: 'fixed', ms }
  return { kind: 'date-histogram', field, interval: fixed, ...minDocCountOf(clause) }
}

function parseGeohashGrid(clause: Clause): BucketAggregation {
  const precision = integerOf(clause, 'precision', { min: 1, max: 12 }) ?? GEOHASH_PRECISION_DEFAULT
  const [size, minDocCount] = [sizeOf(clause), minDocCountOf(clause)]
  return { kind: 'geohash-grid', field: fieldOf(clause), precision, ...size, ...minDocCount }
}

function parseGeoDistances(clause: Clause): BucketAggregation {
  const { members, where } = clause
  const unit = choiceOf(clause, 'unit', Object.keys(METRES_BY_UNIT)) ?? 'm'
  const ranges = numberRangesOf(clause, 'distance_ranges', METRES_BY_UNIT[unit] ?? 1)
  const origin = parsePoint(memberOf(members, 'origin'), `${where}.origin`)
  return { kind: 'geo-distance', field: fieldOf(clause), origin, ranges }
}

function parseSignificantTerms(clause: Clause): BucketAggregation {
  const background = memberOf(clause.members, 'background_filter')
  return {
    kind: 'significant-terms',
    fields: fieldsOf(clause),
    ...sizeOf(clause),
    ...minDocCountOf(clause),
    algorithm: choiceOf(clause, 'algorithm', SIGNIFICANCE) ?? 'jlh',
    background: background === undefined ? undefined : parseBackground(background, clause),
  }
}

function numberRangesOf(
  clause: Clause,
  name: string,
  factor: number,
): readonly NamedRange<number>[] {
  const ranges = rangesOf(clause, name, (value, where) => parseNumber(value, where) * factor)
  for (const [index, { from, to }] of ranges.entries()) {
    if (from === undefined || to === undefined || from <= to) continue
    refuse(`${clause.where}.${name}[${index}]`, 'from is above to')
  }
  return ranges
}

function rangesOf<Value>(
  clause: Clause,
  name: string,
  parseBound: (value: JsonValue, where: string) => Value,
): readonly NamedRange<Value>[] {
  const names = new Set<string>()
  return listOf(clause, name, { what: 'range', max: RANGES_MAX }).map((members, index) => {
    const where = `${clause.where}.${name}[${index}]`
    if (!isJsonObject(members)) return refuse(where, 'must be an object')
    checkMembers({ ...clause, members, where }, ['name', 'from', 'to'])
    const [from, to] = [memberOf(members, 'from'), memberOf(members, 'to')]
    const range = {
      name: parseText(memberOf(members, 'name'), `${where}.name`, NAME_LENGTH_MAX),
      from: from === undefined ? undefined : parseBound(from, `${where}.from`),
      to: to === undefined ? undefined : parseBound(to, `${where}.to`),
    }
    if (names.has(range.name)) refuse(`${where}.name`, `${shown(range.name)} is used twice`)
    names.add(range.name)
    return range
  })
}

/** Reads a date, `now`, or `now` with a duration, such as `now-7d`. */
function parseDateBound(value: JsonValue, where: string): DateBound {
  const text = parseText(value, where)
  if (text === 'now') return { kind: 'from-now', offsetMs: 0 }
  if (/^now[+-]/.test(text)) {
    const durationMs = parseDurationMs(text.slice(4), where)
    return { kind: 'from-now', offsetMs: text.charAt(3) === '-' ? -durationMs : durationMs }
  }
  const timeMs = parseDateMs(text)
  if (timeMs !== undefined) return { kind: 'absolute', timeMs }
  return refuse(where, `not a date: ${shown(text)}; write 2024-05-01, an RFC 3339 time or now-7d`)
}

function fieldOf({ members, where }: Clause): string {
  return parseField(memberOf(members, 'field'), `${where}.field`)
}

/** The fields of `field` or of `fields`. */
function fieldsOf(clause: Clause): readonly string[] {
  const { members, where } = clause
  const fields = memberOf(members, 'fields')
  if (fields === undefined) return [fieldOf(clause)]
  if (Object.hasOwn(members, 'field')) refuse(where, 'has both field and fields; leave one out')
  if (!isJsonArray(fields)) refuse(`${where}.fields`, 'must be an array of field names')
  return listOf(clause, 'fields', { what: 'field', max: FIELDS_MAX }).map((field, index) =>
    parseField(field, `${where}.fields[${index}]`),
  )
}

function parseField(value: JsonValue | undefined, where: string): string {
  if (typeof value !== 'string') return refuse(where, 'must be a string, the name of a field')
  return parseFieldPath(value, where).text
}

function sizeOf(clause: Clause): { readonly size: number } {
  const range = { min: 1, max: AGGREGATION_BUCKETS_MAX }
  return { size: integerOf(clause, 'size', range) ?? SIZE_DEFAULT }
}

function minDocCountOf(clause: Clause): { readonly minDocCount: number } {
  const range = { min: 0, max: Number.MAX_SAFE_INTEGER }
  return { minDocCount: integerOf(clause, 'min_doc_count', range) ?? 1 }
}
