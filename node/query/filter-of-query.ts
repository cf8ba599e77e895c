// A checked query as a filter on one document in memory, where no index helps.
//
// Text is split into words, lower-cased and compared whole: no stop words, no stems. Every clause
// has to name its field, and what would need an index's analysis or automata is refused.

import { BlockList, isIP } from 'node:net'
import { unreachable } from '../../lib/assert.ts'
import { parseFieldPath } from '../document/field-path.ts'
import { parseDateMs } from './parse-value-queries.ts'
import { jsonNumberFrom, termOf, wordsOf } from './document-filter.ts'
import { shown } from './query-clause.ts'
import { refuse } from './query-limits.ts'
import { parseWildcard } from './wildcard.ts'
import type { FieldPath } from '../document/field-path.ts'
import type {
  Bounds,
  DocumentFilter,
  RangeTest,
  UntypedBounds,
  ValueTest,
} from './document-filter.ts'
import type { Query, QueryBounds } from './query-tree.ts'

type QueryOf<Kind extends Query['kind']> = Extract<Query, { readonly kind: Kind }>
type RangeKind = 'numbers' | 'terms' | 'dates' | 'untyped-range' | 'ip'
type FieldKind = RangeKind | 'term' | 'prefix' | 'wildcard' | 'bool' | 'phrase'
type DocumentKind = 'all' | 'none' | 'ids' | 'boolean' | 'match'
type IndexKind = Exclude<Query['kind'], FieldKind | DocumentKind>

/** Kinds that need an index, as refusals call them. */
const INDEX_FORMS: Readonly<Record<IndexKind, string>> = {
  'phrase-terms': 'a phrase of exact terms',
  fuzzy: 'a fuzzy term',
  regexp: 'a regular expression',
  'geo-box': 'a geo box',
  'geo-distance': 'a geo distance',
  'geo-polygon': 'a geo polygon',
  'geo-shape': 'a geo shape',
  'multi-match': 'multi_match',
}
const RANGE_KINDS: Readonly<Record<RangeKind, true>> = {
  numbers: true,
  terms: true,
  dates: true,
  'untyped-range': true,
  ip: true,
}
const FIELD_KINDS: Readonly<Record<FieldKind, true>> = {
  ...RANGE_KINDS,
  term: true,
  prefix: true,
  wildcard: true,
  bool: true,
  phrase: true,
}

/** `where` is the place of the query in the request, for refusals. */
export function buildDocumentFilter(query: Query, where: string): DocumentFilter {
  if (isIndexQuery(query)) return refuseForm(where, INDEX_FORMS[query.kind])
  if (isFieldQuery(query)) {
    return { kind: 'field', field: pathOf(query, where), test: testOf(query, where) }
  }
  switch (query.kind) {
    case 'all':
    case 'none':
      return { kind: query.kind }
    case 'ids':
      return { kind: 'ids', keys: new Set(query.ids) }
    case 'boolean':
      return filterOfBoolean(query, where)
    case 'match':
      return filterOfMatch(query, where)
    default:
      return unreachable(query)
  }
}

function isIndexQuery(query: Query): query is QueryOf<IndexKind> {
  return Object.hasOwn(INDEX_FORMS, query.kind)
}

function isFieldQuery(query: Query): query is QueryOf<FieldKind> {
  return Object.hasOwn(FIELD_KINDS, query.kind)
}

function isRangeQuery(query: Query): query is QueryOf<RangeKind> {
  return Object.hasOwn(RANGE_KINDS, query.kind)
}

function testOf(query: QueryOf<FieldKind>, where: string): ValueTest {
  if (isRangeQuery(query)) return { kind: 'range', range: rangeTestOf(query) }
  switch (query.kind) {
    case 'term':
      return { kind: 'term', term: termOf(query.term) }
    case 'prefix':
      return { kind: 'prefix', prefix: query.prefix }
    case 'wildcard':
      return { kind: 'wildcard', pattern: parseWildcard(query.pattern) }
    case 'bool':
      return { kind: 'bool', value: query.value }
    case 'phrase':
      return phraseTestOf(query, where)
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

/** Beside other parts a `should` of which none has to hold is only about scores. */
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
  return { kind: 'match', field: pathOf(query, where), words: { words, operator: query.operator } }
}

function phraseTestOf(query: QueryOf<'phrase'>, where: string): ValueTest {
  if (query.fuzziness !== 0) refuseForm(where, 'fuzziness')
  if (query.analyzer !== undefined) refuseForm(where, 'an analyzer')
  if (query.slop !== 0) refuseForm(where, 'slop')
  return { kind: 'phrase', words: wordsOf(query.text) }
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

/** Undefined if a bound is nothing of the type. */
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

function pathOf(query: QueryOf<FieldKind | 'match'>, where: string): FieldPath {
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
