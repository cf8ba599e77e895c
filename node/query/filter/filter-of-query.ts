// Turns a checked query into a filter on one document in memory, for requests that use no index.
//
// The filter splits text into words and compares whole words in lower case, without stop words or
// stems. Every clause must name its field. Two kinds of queries are refused: those that need an
// index's analysis, and those whose automata could block other requests on a long document.

import { BlockList, isIP } from 'node:net'
import { parseFieldPath } from '../../document/field-path.ts'
import { parseDateMs } from '../../schema/rfc3339.ts'
import { jsonNumberFrom, termOf, wordsOf } from './document-filter.ts'
import { parseQuery } from '../language/parse-query.ts'
import { shown } from '../language/query-clause.ts'
import { refuse } from '../query-limits.ts'
import { positionsOf } from '../../geo/shape.ts'
import { geoTestOf, type GeoQuery } from './geo-test.ts'
import { matchesWildcard, parseWildcard } from '../wildcard.ts'
import { buildRunTest } from '../word-run.ts'
import type { JsonValue } from '../../document/exact-json.ts'
import type { FieldPath } from '../../document/field-path.ts'
import type {
  Bounds,
  DocumentFilter,
  FilterField,
  RangeTest,
  UntypedBounds,
  ValueTest,
  WordTest,
} from './document-filter.ts'
import type { Query, QueryBounds, QueryOf } from '../query-tree.ts'

const POSITIONS_MAX = 1000
/** The suffix of a sub-field of whole values. */
const KEYWORD = /(?:\.|__)keyword$/

type FieldKind = Extract<Query, { readonly field: string | undefined }>['kind']

type Filters = {
  readonly [Kind in Query['kind']]: (query: QueryOf<Kind>, where: string) => DocumentFilter
}

const FILTERS: Filters = {
  all: () => ({ kind: 'all' }),
  none: () => ({ kind: 'none' }),
  ids: ({ ids }) => ({ kind: 'ids', keys: new Set(ids) }),
  boolean: filterOfBoolean,
  match: filterOfMatch,
  'multi-match': filterOfMultiMatch,
  simple: (_, where) => refuseForm(where, 'a simple query'),
  fuzzy: (_, where) => refuseForm(where, 'a fuzzy term'),
  regexp: (_, where) => refuseForm(where, 'a regular expression'),

  exists: onField(() => ({ kind: 'exists' })),
  term: onField(({ term }) => ({ kind: 'term', term: termOf(term) })),
  bool: onField(({ value }) => ({ kind: 'bool', value })),

  phrase: onText(filterOfRun),
  'phrase-terms': onText(filterOfRun),
  prefix: onText(
    ({ prefix }) =>
      (text) =>
        text.startsWith(prefix),
  ),
  wildcard: onText(({ pattern: source }) => {
    const pattern = parseWildcard(source)
    return (text) => matchesWildcard(pattern, text)
  }),

  numbers: onRange(({ exact, bounds }) => ({ kind: 'numbers', bounds: exact ?? bounds })),
  terms: onRange(({ bounds }) => ({ kind: 'text', bounds: mapBounds(bounds, bytesOf) })),
  dates: onRange(({ bounds }) => ({ kind: 'dates', bounds })),
  'untyped-range': onRange(({ bounds }) => ({ kind: 'untyped', bounds: untypedBoundsOf(bounds) })),
  ip: onRange(({ cidr }) => addressTestOf(cidr)),

  'geo-box': filterOfPlace,
  'geo-distance': filterOfPlace,
  'geo-polygon': filterOfPlace,
  'geo-shape': filterOfPlace,
}

/** From the JSON of `filter_query`. `where` is its place in the request, for messages. */
export function parseDocumentFilter(value: JsonValue, where: string): DocumentFilter {
  return buildDocumentFilter(parseQuery(value, where), where)
}

/** Throws INVALID_ARGUMENT for a query that needs an index. */
export function buildDocumentFilter<Kind extends Query['kind']>(
  query: { readonly [Each in Kind]: QueryOf<Each> & { readonly kind: Each } }[Kind],
  where: string,
): DocumentFilter {
  const kind: Kind = query.kind
  return FILTERS[kind](query, where)
}

function onField<Asked extends QueryOf<FieldKind>>(
  testOf: (query: Asked, where: string) => ValueTest,
) {
  return (query: Asked, where: string): DocumentFilter => ({
    kind: 'field',
    field: fieldOf(query, where),
    test: testOf(query, where),
  })
}

function onText<Asked extends QueryOf<FieldKind>>(
  holdsOf: (query: Asked, where: string) => (text: string) => boolean,
) {
  return onField((query: Asked, where) => ({ kind: 'text', holds: holdsOf(query, where) }))
}

function onRange<Asked extends QueryOf<FieldKind>>(rangeOf: (query: Asked) => RangeTest) {
  return onField((query: Asked) => ({ kind: 'range', range: rangeOf(query) }))
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

function filterOfRun(
  query: QueryOf<'phrase' | 'phrase-terms'>,
  where: string,
): (text: string) => boolean {
  const holds = buildRunTest(runOf(query, where))
  return (text) => holds(wordsOf(text))
}

/** If `minShould` is 0, `should` only changes scores, so the filter ignores it. */
function filterOfBoolean(query: QueryOf<'boolean'>, where: string): DocumentFilter {
  const build = (inner: Query): DocumentFilter => buildDocumentFilter(inner, where)
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

function fieldOf(query: QueryOf<FieldKind>, where: string): FilterField {
  const path = pathOf(query, where)
  const whole = path.text.replace(KEYWORD, '')
  return { path, whole: whole === path.text ? undefined : parseFieldPath(whole, where) }
}

function pathOf(query: QueryOf<FieldKind>, where: string): FieldPath {
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
