// Turns a checked query into a filter on one document in memory, for requests that use no index.
//
// The filter splits text into words and compares whole words in lower case, without stop words or
// stems. Every clause must name its field. Two kinds of queries are refused: those that need an
// index's analysis, and those whose automata could block other requests on a long document.

import { BlockList, isIP } from 'node:net'
import { unreachable } from '../../lib/assert.ts'
import { parseFieldPath } from '../document/field-path.ts'
import { parseDateMs } from '../schema/rfc3339.ts'
import { jsonNumberFrom, termOf, wordsOf } from './document-filter.ts'
import { shown } from './language/query-clause.ts'
import { refuse } from './query-limits.ts'
import { positionsOf } from '../geo/shape.ts'
import { geoTestOf, type GeoQuery } from './geo-test.ts'
import { matchesWildcard, parseWildcard } from './wildcard.ts'
import { buildRunTest } from './word-run.ts'
import type { FieldPath } from '../document/field-path.ts'
import type {
  Bounds,
  DocumentFilter,
  FilterField,
  RangeTest,
  UntypedBounds,
  ValueTest,
  WordTest,
} from './document-filter.ts'
import type { Query, QueryBounds, QueryOf } from './query-tree.ts'

const POSITIONS_MAX = 1000
/** The suffix of a sub-field of whole values. */
const KEYWORD = /(?:\.|__)keyword$/

type RangeKind = 'numbers' | 'terms' | 'dates' | 'untyped-range' | 'ip'
type WordKind = 'phrase' | 'phrase-terms' | 'prefix' | 'wildcard'
type FieldKind = RangeKind | WordKind | 'exists' | 'term' | 'bool'
const GEO_KINDS: Readonly<Record<GeoQuery['kind'], true>> = {
  'geo-box': true,
  'geo-distance': true,
  'geo-polygon': true,
  'geo-shape': true,
}
const RANGE_KINDS: Readonly<Record<RangeKind, true>> = {
  numbers: true,
  terms: true,
  dates: true,
  'untyped-range': true,
  ip: true,
}
const WORD_KINDS: Readonly<Record<WordKind, true>> = {
  phrase: true,
  'phrase-terms': true,
  prefix: true,
  wildcard: true,
}
const FIELD_KINDS: Readonly<Record<FieldKind, true>> = {
  ...RANGE_KINDS,
  ...WORD_KINDS,
  exists: true,
  term: true,
  bool: true,
}

/** `where` is the place of the query in the request, for messages. */
export function buildDocumentFilter(query: Query, where: string): DocumentFilter {
  if (isGeoQuery(query)) return filterOfPlace(query, where)
  if (isFieldQuery(query)) {
    return { kind: 'field', field: fieldOf(query, where), test: testOf(query, where) }
  }
  switch (query.kind) {
    case 'all':
    case 'none':
      return { kind: query.kind }
    case 'ids':
      return { kind: 'ids', keys: new Set(query.ids) }
    case 'boolean':
      return filterOfBoolean(query, where)
    case 'fuzzy':
      return refuseForm(where, 'a fuzzy term')
    case 'simple':
      return refuseForm(where, 'a simple query')
    case 'regexp':
      return refuseForm(where, 'a regular expression')
    case 'match':
      return filterOfMatch(query, where)
    case 'multi-match':
      return filterOfMultiMatch(query, where)
    default:
      return unreachable(query)
  }
}

/**
 * Comparing two shapes of the most positions takes seconds, and blocks every other request
 * meanwhile.
 */
function filterOfPlace(query: GeoQuery, where: string): DocumentFilter {
  if (query.kind === 'geo-shape' && positionsOf(query.shape) > POSITIONS_MAX) {
    refuseForm(where, `a shape of more than ${POSITIONS_MAX} positions`)
  }
  return { kind: 'place', field: pathOf(query, where), test: geoTestOf(query) }
}

function isGeoQuery(query: Query): query is GeoQuery {
  return Object.hasOwn(GEO_KINDS, query.kind)
}

function isWordQuery(query: Query): query is QueryOf<WordKind> {
  return Object.hasOwn(WORD_KINDS, query.kind)
}

function isFieldQuery(query: Query): query is QueryOf<FieldKind> {
  return Object.hasOwn(FIELD_KINDS, query.kind)
}

function isRangeQuery(query: Query): query is QueryOf<RangeKind> {
  return Object.hasOwn(RANGE_KINDS, query.kind)
}

function testOf(query: QueryOf<FieldKind>, where: string): ValueTest {
  if (isRangeQuery(query)) return { kind: 'range', range: rangeTestOf(query) }
  if (isWordQuery(query)) return { kind: 'text', holds: textTestOf(query, where) }
  switch (query.kind) {
    case 'exists':
      return { kind: 'exists' }
    case 'term':
      return { kind: 'term', term: termOf(query.term) }
    case 'bool':
      return { kind: 'bool', value: query.value }
    default:
      return unreachable(query)
  }
}

function textTestOf(query: QueryOf<WordKind>, where: string): (text: string) => boolean {
  switch (query.kind) {
    case 'prefix':
      return (text) => text.startsWith(query.prefix)
    case 'wildcard': {
      const pattern = parseWildcard(query.pattern)
      return (text) => matchesWildcard(pattern, text)
    }
    case 'phrase':
    case 'phrase-terms': {
      const holds = buildRunTest(runOf(query, where))
      return (text) => holds(wordsOf(text))
    }
    default:
      return unreachable(query)
  }
}

function rangeTestOf(query: QueryOf<RangeKind>): RangeTest {
  switch (query.kind) {
    case 'numbers':
      return { kind: 'numbers', bounds: query.exact ?? query.bounds }
    case 'terms':
      return { kind: 'text', bounds: mapBounds(query.bounds, bytesOf) }
    case 'dates':
      return { kind: 'dates', bounds: query.bounds }
    case 'untyped-range':
      return { kind: 'untyped', bounds: untypedBoundsOf(query.bounds) }
    case 'ip':
      return addressTestOf(query.cidr)
    default:
      return unreachable(query)
  }
}

/** If `minShould` is 0, `should` only changes scores, so the filter ignores it. */
function filterOfBoolean(query: QueryOf<'boolean'>, where: string): DocumentFilter {
  const build = (inner: Query) => buildDocumentFilter(inner, where)
  const filters = [...query.must, ...query.filter].map(build)
  const should = query.should.map(build)
  if (query.minShould > 0) filters.push({ kind: 'or', filters: should, min: query.minShould })
  for (const inner of query.mustNot) filters.push({ kind: 'not', filter: build(inner) })
  return { kind: 'and', filters }
}

function filterOfMatch(query: QueryOf<'match'>, where: string): DocumentFilter {
  if (query.fuzziness !== 0) refuseForm(where, 'fuzziness')
  if (query.analyzer !== undefined) refuseForm(where, 'an analyzer')
  const words = [...new Set(wordsOf(query.text))]
  const test: WordTest = { words, prefix: undefined, operator: query.operator }
  return { kind: 'match', field: fieldOf(query, where), words: test }
}

/** One word is enough. The last word may be a prefix. */
function filterOfMultiMatch(query: QueryOf<'multi-match'>, where: string): DocumentFilter {
  if (query.fuzziness !== 0) refuseForm(where, 'fuzziness')
  const typed = wordsOf(query.text)
  const words: WordTest = { words: typed.slice(0, -1), prefix: typed.at(-1), operator: 'or' }
  const filters = query.fields.map((field): DocumentFilter => {
    const path = parseFieldPath(field, where)
    return { kind: 'match', field: { path, whole: undefined }, words }
  })
  return { kind: 'or', filters, min: 1 }
}

/** Words in a row. Each position may have alternatives. */
function runOf(
  query: QueryOf<'phrase' | 'phrase-terms'>,
  where: string,
): readonly (readonly string[])[] {
  if (query.slop !== 0) refuseForm(where, 'slop')
  if (query.kind === 'phrase-terms') return query.positions
  if (query.fuzziness !== 0) refuseForm(where, 'fuzziness of a phrase')
  if (query.analyzer !== undefined) refuseForm(where, 'an analyzer')
  return wordsOf(query.text).map((word) => [word])
}

function addressTestOf(cidr: string): RangeTest {
  const [address = '', length] = cidr.split('/')
  const version = isIP(address) === 4 ? 'ipv4' : 'ipv6'
  const block = new BlockList()
  if (length === undefined) block.addAddress(address, version)
  else block.addSubnet(address, Number(length), version)
  return { kind: 'addresses', version, block }
}

function untypedBoundsOf(bounds: QueryBounds<string>): UntypedBounds {
  return {
    numbers: boundsOfType(bounds, jsonNumberFrom),
    dates: boundsOfType(bounds, parseDateMs),
    text: mapBounds(bounds, bytesOf),
  }
}

/** Undefined if a bound cannot be read as the type. */
function boundsOfType<Value>(
  bounds: QueryBounds<string>,
  parse: (text: string) => Value | undefined,
): Bounds<Value> | undefined {
  const parsed = mapBounds(bounds, parse)
  const isWhole = countBounds(parsed) === countBounds(bounds)
  return isWhole ? parsed : undefined
}

function mapBounds<To>(
  bounds: QueryBounds<string>,
  convert: (text: string) => To | undefined,
): Bounds<To> {
  const { min, max, inclusiveMin, inclusiveMax } = bounds
  return {
    min: min === undefined ? undefined : convert(min),
    max: max === undefined ? undefined : convert(max),
    inclusiveMin,
    inclusiveMax,
  }
}

function countBounds({ min, max }: Bounds<unknown>): number {
  return [min, max].filter((bound) => bound !== undefined).length
}

function fieldOf(query: QueryOf<FieldKind | 'match'>, where: string): FilterField {
  const path = pathOf(query, where)
  const whole = path.text.replace(KEYWORD, '')
  return { path, whole: whole === path.text ? undefined : parseFieldPath(whole, where) }
}

function pathOf(query: GeoQuery | QueryOf<FieldKind | 'match'>, where: string): FieldPath {
  if (query.field !== undefined) return parseFieldPath(query.field, where)
  const shownKind = query.kind === 'match' ? shown(query.text) : `the ${query.kind}`
  return refuse(
    where,
    `${shownKind} names no field, and only POST /query has a default field; ` +
      'write {"term": "north", "field": "region"} or region:north',
  )
}

function refuseForm(where: string, form: string): never {
  return refuse(where, `${form} needs an index; search with POST /query instead`)
}

function bytesOf(text: string): Buffer {
  return Buffer.from(text, 'utf8')
}
