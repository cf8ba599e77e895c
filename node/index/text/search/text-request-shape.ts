// Which requests the text engine can read. A coordinator of this version sends no others; one of a later
// version may send a query of a kind that this one does not know, which must not end a worker.

import { ANALYZER_NAMES } from '../../../schema/analyzer-names.ts'
import type { AggregationRequest } from '../../../query/request/aggregation-request.ts'
import type { Query } from '../../../query/query-tree.ts'
import type { ForeignQuestion } from '../../host/index-kind.ts'
import {
  hasMembers,
  isBoolean,
  isBytes,
  isCount,
  isListOf,
  isMapOf,
  isNumber,
  isOneOf,
  isOptional,
  isText,
  isVariantOf,
  type Check,
} from '../../host/plain-shape.ts'
import type { TextWindow } from './text-search.ts'
import type { TextAsked, TextQuestions } from './text-questions.ts'

type Members = Readonly<Record<string, Check>>

const isFieldName = isOptional(isText)
const isFuzziness = isOneOf([0, 1, 2, 'auto'])
const isAnalyzer = isOptional(isOneOf(ANALYZER_NAMES))
const isPoint = hasMembers({ lon: isNumber, lat: isNumber })
/** The tables below name each other. */
const isQuery: Check = (value) => isScored(value) && isKnownQuery(value)
const isAggregation: Check = (value) => isKnownAggregation(value)
const isScored = hasMembers({ boost: isNumber })

function boundsOf(isBound: Check): Check {
  return hasMembers({
    min: isOptional(isBound),
    max: isOptional(isBound),
    inclusiveMin: isBoolean,
    inclusiveMax: isBoolean,
  })
}

const isPart = hasMembers({
  kind: isOneOf(['point', 'line', 'polygon']),
  paths: isListOf(isListOf(isPoint)),
  box: hasMembers({ west: isNumber, east: isNumber, south: isNumber, north: isNumber }),
})

const QUERIES: Readonly<Record<Query['kind'], Members>> = {
  all: {},
  none: {},
  term: { field: isFieldName, term: isText },
  match: {
    field: isFieldName,
    text: isText,
    operator: isOneOf(['or', 'and']),
    fuzziness: isFuzziness,
    prefixLength: isCount,
    analyzer: isAnalyzer,
  },
  phrase: {
    field: isFieldName,
    text: isText,
    slop: isCount,
    fuzziness: isFuzziness,
    analyzer: isAnalyzer,
  },
  'phrase-terms': { field: isFieldName, positions: isListOf(isListOf(isText)), slop: isCount },
  fuzzy: { field: isFieldName, term: isText, fuzziness: isFuzziness, prefixLength: isCount },
  prefix: { field: isFieldName, prefix: isText },
  wildcard: { field: isFieldName, pattern: isText },
  regexp: { field: isFieldName, pattern: isText },
  numbers: {
    field: isFieldName,
    bounds: boundsOf(isNumber),
    exact: isOptional(boundsOf(isText)),
  },
  terms: { field: isFieldName, bounds: boundsOf(isText) },
  dates: { field: isFieldName, bounds: boundsOf(isNumber) },
  'untyped-range': { field: isFieldName, bounds: boundsOf(isText) },
  bool: { field: isFieldName, value: isBoolean },
  ip: { field: isFieldName, cidr: isText },
  'any-of': { field: isFieldName, values: isListOf(isText) },
  exists: { field: isFieldName },
  ids: { ids: isListOf(isText) },
  boolean: {
    must: isListOf(isQuery),
    should: isListOf(isQuery),
    minShould: isCount,
    mustNot: isListOf(isQuery),
    filter: isListOf(isQuery),
  },
  'geo-box': { field: isFieldName, topLeft: isPoint, bottomRight: isPoint },
  'geo-distance': { field: isFieldName, centre: isPoint, metres: isNumber },
  'geo-polygon': { field: isFieldName, points: isListOf(isPoint) },
  'geo-shape': {
    field: isFieldName,
    shape: isListOf(isPart),
    relation: isOneOf(['intersects', 'contains', 'within']),
  },
  simple: {
    text: isText,
    fields: isOptional(isListOf(hasMembers({ name: isText, boost: isNumber }))),
  },
  'multi-match': { fields: isListOf(isText), text: isText, fuzziness: isFuzziness },
}
const isKnownQuery = isVariantOf(QUERIES)

function rangesOf(isBound: Check): Check {
  const bound = isOptional(isBound)
  return isListOf(hasMembers({ name: isText, from: bound, to: bound }))
}

const isDateBound = isVariantOf({
  absolute: { timeMs: isNumber },
  'from-now': { offsetMs: isNumber },
})
const isInterval = isVariantOf({ calendar: { unit: isText }, fixed: { ms: isNumber } })
const SUB: Members = { sub: isMapOf(isAggregation) }
const SIZED: Members = { size: isCount, minDocCount: isCount, ...SUB }
const TERMS: Members = { fields: isListOf(isText), ...SIZED }

const AGGREGATIONS: Readonly<Record<AggregationRequest['kind'], Members>> = {
  metric: { metric: isText, field: isText },
  terms: TERMS,
  range: { field: isText, ranges: rangesOf(isNumber), ...SUB },
  'date-range': { field: isText, ranges: rangesOf(isDateBound), ...SUB },
  histogram: { field: isText, interval: isNumber, minDocCount: isCount, ...SUB },
  'date-histogram': { field: isText, interval: isInterval, minDocCount: isCount, ...SUB },
  'geohash-grid': { field: isText, precision: isCount, ...SIZED },
  'geo-distance': { field: isText, origin: isPoint, ranges: rangesOf(isNumber), ...SUB },
  'significant-terms': { ...TERMS, algorithm: isText, background: isOptional(isQuery) },
}
const isKnownAggregation = isVariantOf(AGGREGATIONS)

const isConditions = hasMembers({
  query: isOptional(isQuery),
  filter: isOptional(isQuery),
  exclusion: isOptional(isQuery),
  keyPrefix: isOptional(isBytes),
})

const isExactNumber = hasMembers({ decimal: isText })
const isSortValue = isOptional((value) => isText(value) || isNumber(value) || isExactNumber(value))
const isPosition = hasMembers({ values: isListOf(isSortValue), key: isBytes })
const WINDOWS: Readonly<Record<TextWindow['kind'], Members>> = {
  first: { limit: isCount },
  after: { position: isPosition, limit: isCount },
  before: { position: isPosition, limit: isCount },
}

const isStatistics = hasMembers({
  fields: isMapOf(hasMembers({ docCount: isNumber, totalLength: isNumber })),
  docFreqs: isMapOf(isNumber),
  expansions: isMapOf((value) => value === 'too-many' || isListOf(isText)(value)),
})

const REQUESTS: Readonly<Record<keyof TextQuestions, Members>> = {
  search: {
    conditions: isConditions,
    order: isListOf(hasMembers({ field: isText, isDescending: isBoolean })),
    window: isVariantOf(WINDOWS),
    aggregations: isMapOf(isAggregation),
    statistics: isOptional(isStatistics),
    nowMs: isNumber,
  },
  statistics: { conditions: isConditions },
  select: { conditions: isConditions, nowMs: isNumber },
  highlight: {
    query: isQuery,
    highlight: hasMembers({ fields: isOptional(isListOf(isText)), pre: isText, post: isText }),
    documents: isListOf(isBytes),
  },
  suggest: { query: isQuery },
}
const CHECKS = new Map(Object.entries(REQUESTS).map(([name, row]) => [name, hasMembers(row)]))

/** Whether the text engine can read the request to this question. */
export function isTextRequest(asked: ForeignQuestion): asked is ForeignQuestion & TextAsked {
  return CHECKS.get(asked.question)?.(asked.request) === true
}
