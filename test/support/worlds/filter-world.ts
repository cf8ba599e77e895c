// Documents with fields of every kind, and filters of every kind of the contract for each of these
// fields. A kind that the contract gains has to be added here before types and tests pass.

import type { TableSchema } from '../../../node/schema/table-schema.ts'
import { parseTableSchema } from '../../../node/schema/table-schema.ts'

type Json = Readonly<Record<string, unknown>>

const SQUARE = {
  type: 'Polygon',
  coordinates: [
    [
      [4, 51],
      [6, 51],
      [6, 53],
      [4, 53],
      [4, 51],
    ],
  ],
}

/** The first value of `mixed` is a number, in the first document: later texts do not fit. */
export const FILTERED_DOCUMENTS: Readonly<Record<string, Json>> = {
  a01: {
    mixed: 7,
    body: 'The sea, and a chart of the sea',
    page: '<p>An old <b>harbour</b></p>',
    typed: 'northern harbour',
    word: 'sea',
    n: 5,
    on: true,
    at: '2024-05-01T12:00:00Z',
    when: '2024-05-01T12:00:00Z',
    ip: '10.1.2.3',
    place: [4.9, 52.4],
    area: SQUARE,
    tags: ['red', 'green'],
    'a.b': 1,
    a: { b: 2 },
    'd.t': 'dotted sea',
    id: '5',
  },
  a02: {
    mixed: 'sea',
    body: 'sea',
    word: 'Sea',
    n: JSON.rawJSON('9007199254740993'),
    on: 'true',
    at: '2024-05-01',
    ip: '2001:db8::1',
    place: { lat: 10, lon: 10 },
    a: { b: 1 },
    d: { t: 'sea' },
  },
  a03: { body: '', word: '', n: -0.5, on: false, tags: [], place: '52.4,4.9', mixed: '7' },
  a04: { body: null, word: null, n: null, tags: [null], a: null, items: [] },
  a05: { body: ['chart', 'sea'], word: ['sea', 'lake'], n: [1, 40], tags: [['red'], 'blue'] },
  a06: { items: [{ name: 'sea chart', n: 1 }, { name: 'lake' }], 'items.name': 'harbour' },
  a07: { items: { name: ['Sea', ['northern lights']], n: [[5]] }, a: [{ b: 5 }, { b: [6, 7] }] },
  a08: { body: "Don't panic: naïve façade, Straße, don’t", word: "Don't panic", id: '05' },
  a09: { body: 'sea_chart.works/Then 42 3.5', word: 'sea_chart', n: '42', ip: '11.0.0.1' },
  a10: { body: 42, word: 42, n: 42, on: 1, at: 1714521600000, ip: 7 },
  a11: { body: true, word: true, n: true, 'a.b': [3, 'x'], x: { 'y.z': 'sea', y: { z: 'lake' } } },
  a12: { 'x.y.z': 'chart', 'x.y': { z: 'harbour' }, body: 'seaside charts', word: 'seaside' },
  a13: { body: 'море и карта', word: 'море', tags: 'red', at: '1969-01-01T00:00:00+02:00' },
  a14: {
    body: 'the',
    word: '-',
    tags: ['Red'],
    at: 'soon',
    area: { type: 'Point', coordinates: [5, 52] },
  },
  a15: { _type: 'one', body: 'The seas of the north', loose: { free: 'sea', n: 3 }, hidden: 'sea' },
  a16: { body: `${'long '.repeat(1500)}sea`, word: 'w'.repeat(300), n: 1e300, id: '5.0' },
  a17: {},
  // Values without words, which are values.
  a18: {
    body: ['-', ''],
    page: '<p></p>',
    typed: '…',
    word: '',
    tags: '-',
    mixed: 'the',
    d: { t: '' },
    items: [{ name: 'the' }, { name: '--' }],
    loose: { free: ' ' },
    x: { y: { z: '!' } },
  },
  // So long that its members are read one by one.
  a19: {
    pad: 'x'.repeat(40_000),
    'a.b': 5,
    a: { b: [2, 7] },
    'd.t': 'dotted sea',
    d: { t: 'chart' },
    'x.y': { z: 'sea' },
    items: [{ name: 'harbour' }],
    word: 'sea',
  },
  // The same letters, together and apart.
  a20: { word: 'Cafe\u0301', tags: ['Caf\u00e9', 'red'], body: 'Cafe\u0301', typed: 'caf\u00e9' },
}

/** Every name is asked in every kind of filter. */
// prettier-ignore
export const FILTERED_FIELDS = [
  'body', 'body.keyword', 'page', 'typed', 'typed._2gram', 'word', 'word.keyword', 'n', 'on', 'at', 'when', 'ip',
  'ip.keyword', 'place', 'area', 'tags', 'tags.keyword', 'a.b', 'a', 'd.t', 'items.name', 'items.n', 'x.y.z', 'mixed',
  'loose.free', 'loose.n', 'id', 'missing', '_all', '_type',
] as const

// prettier-ignore
const TEXTS = ['Caf\u00e9', 'Cafe\u0301', 'sea', 'Sea', 'chart', 'harbour', 'north', '', 'red', "don't", 'море', '42', '5', 'true', 'the'] as const
const TERMS = [
  ...TEXTS,
  'dotted sea',
  'northern lights',
  5,
  42,
  -0.5,
  2,
  1,
  true,
  false,
  '9007199254740993',
  '9007199254740992',
]

/** By the name of a clause in the contract: filters of the kind on one field. */
// prettier-ignore
export const FILTERS_BY_CLAUSE: Readonly<Record<string, (field: string) => readonly Json[]>> = {
  QueryStringClause: (field) =>
    ['sea', '"sea chart"', 'sea -chart', 'se*', '/se.*/', 'sae~1', '*', '>=5', '[1 TO 9]', 'NOT sea']
      .map((text) => ({ query: text, field })),
  SimpleClause: (field) =>
    ['sea', 'nor', '"sea chart"', 'sea -chart', 'harbor', 'chart of sea', 'the'].flatMap((query) => [
      { simple: { query, fields: [field] } },
      { simple: { query } },
    ]),
  MatchClause: (field) => [
    ...TEXTS.map((match) => ({ match, field })),
    { match: 'sea chart', field, operator: 'and' },
    { match: 'sae', field, fuzziness: 1 },
    { match: 'seas', field, analyzer: 'english' },
    { match: 'sea' },
  ],
  MatchPhraseClause: (field) => [
    ...['sea chart', 'chart sea', 'of the sea', 'northern lights'].map((text) => ({ match_phrase: text, field })),
    { match_phrase: 'sea chart', field, slop: 4 },
    { match_phrase: 'sae chart', field, fuzziness: 1 },
  ],
  PhraseTermsClause: (field) => [
    { terms: ['sea', ['chart', 'map']], field },
    { terms: ['chart', 'sea'], field, slop: 2 },
  ],
  TermClause: (field) => [
    ...TERMS.map((term) => ({ term, field })),
    { term: 'sae', fuzziness: 1, field },
    { term: 'sea' },
  ],
  AnyValueClause: (field) => [
    { terms: { field, values: ['sea', 'Sea', 'red', 'none'] } },
    { terms: { field, values: [5, 2, 1, '42', JSON.rawJSON('9007199254740993')] } },
    { terms: { field, values: [true, 'false'] } },
    { terms: { field, values: ['2024-05-01', '2024-05-01T12:00:00Z'] } },
  ],
  PrefixClause: (field) => ['', 'se', 'Se', 'nor', '1', 'sea ch'].map((prefix) => ({ prefix, field })),
  WildcardClause: (field) => ['s?a', 'se*', '*t*', '*', 'sea*chart'].map((wildcard) => ({ wildcard, field })),
  RegexpClause: (field) => ['s.a', 'sea.*', '[a-z]+', ''].map((regexp) => ({ regexp, field })),
  MultiMatchClause: (field) =>
    ['sea cha', 'nor', 'harb'].flatMap((query) => [
      { multi_match: { query, fields: [field], type: 'bool_prefix' } },
      { multi_match: { query, fields: [field, 'word'], type: 'bool_prefix', fuzziness: 1 } },
    ]),
  BoolClause: (field) => [{ bool: true, field }, { bool: false, field }],
  NumberRangeClause: (field) => [
    { min: 5, field },
    { max: 5, field },
    { max: 5, inclusive_max: true, field },
    { min: 5, inclusive_min: false, field },
    { min: -1, max: 41.5, field },
    { min: JSON.rawJSON('9007199254740993'), field },
    { max: JSON.rawJSON('9007199254740993'), field },
    { min: 9007199254740992, inclusive_min: false, field },
  ],
  TextRangeClause: (field) => [
    { min: 'red', field },
    { min: 'sea', max: 'seb', field },
    { max: 'Z', inclusive_max: true, field },
  ],
  DateRangeClause: (field) => [
    { start: '2024-05-01', end: '2024-05-02', field },
    { start: '2024-05-01T12:00:00Z', inclusive_start: false, field },
    { end: '1970-01-01', field },
  ],
  NetworkClause: (field) => ['10.0.0.0/8', '11.0.0.1', '2001:db8::/32'].map((cidr) => ({ cidr, field })),
  GeoBoxClause: (field) => [{ top_left: [4, 53], bottom_right: [6, 51], field }],
  GeoDistanceClause: (field) => [{ location: [4.9, 52.4], distance: '10km', field }],
  GeoPolygonClause: (field) => [{ polygon_points: [[4, 51], [6, 51], [5, 53]], field }],
  GeoShapeClause: (field) =>
    ['intersects', 'contains', 'within'].map((relation) => ({
      geometry: { shape: { type: 'Point', coordinates: [5, 52] }, relation },
      field,
    })),
  IdsClause: () => [{ ids: ['a01', 'a17', 'none'] }],
  ConjunctionClause: (field) => [
    { conjuncts: [{ match: 'sea', field }, { match_all: {} }] },
    { conjuncts: [{ match: 'sea', field: 'body' }, { prefix: 's', field }] },
  ],
  DisjunctionClause: (field) => [
    { disjuncts: [{ term: 'sea', field }, { term: 'chart', field }] },
    { disjuncts: [{ term: 'sea', field }, { term: 'chart', field }, { ids: ['a01'] }], min: 2 },
    { disjuncts: [{ must_not: { disjuncts: [{ match: 'sea', field }] } }, { ids: ['a01'] }] },
  ],
  BooleanClause: (field) => [
    { must_not: { disjuncts: [{ match: 'sea', field }] } },
    { must: { conjuncts: [{ match: 'sea', field }] }, should: { disjuncts: [{ term: 'x', field: 'word' }] } },
    { must_not: { disjuncts: [{ query: '*', field }] } },
    { filter: { query: '*', field }, must_not: { disjuncts: [{ ids: ['a01'] }] } },
  ],
  MatchAllClause: () => [{ match_all: {} }],
  MatchNoneClause: () => [{ match_none: {} }],
}

export const FILTERS: readonly Json[] = Object.values(FILTERS_BY_CLAUSE).flatMap((filtersOf) => {
  const filters = FILTERED_FIELDS.flatMap((field) => filtersOf(field))
  return [...new Set(filters.map((filter) => JSON.stringify(filter)))].map((text): Json =>
    JSON.parse(text),
  )
})

const DAYS = ['2024-05-01', '1970-01-01', '1969-12-31'] as const
const VALUES = ['sea', 'Sea', 'Cafe\u0301', 'Caf\u00e9', 'red', 'море', '', "Don't panic"] as const

/** Filters of one meaning, each written in several ways: on days, on whole values, and on numbers. */
export const SPELLINGS: readonly (readonly Json[])[] = [
  ...DAYS.flatMap((day) =>
    ['at', 'when'].map((field) => [
      { term: day, field },
      { terms: { field, values: [day] } },
      { start: day, end: day, inclusive_end: true, field },
      { min: day, max: day, inclusive_max: true, field },
      { query: `[${day} TO ${day}]`, field },
      { query: `"${day}"`, field },
    ]),
  ),
  ...VALUES.flatMap((value) =>
    ['word', 'word.keyword', 'tags.keyword', 'id.keyword'].map((field) => [
      { term: value, field },
      { terms: { field, values: [value] } },
      { min: value, max: value, inclusive_max: true, field },
    ]),
  ),
  ...[5, 42, -0.5, 1].map((value) => [
    { term: value, field: 'n' },
    { terms: { field: 'n', values: [value] } },
    { min: value, max: value, inclusive_max: true, field: 'n' },
    { query: `[${value} TO ${value}]`, field: 'n' },
  ]),
]

const DOCUMENT_SCHEMA = {
  type: 'object',
  properties: {
    page: { type: 'string', 'x-service-types': ['html'] },
    typed: { type: 'string', 'x-service-types': ['text', 'search_as_you_type'] },
    word: { 'x-service-types': ['keyword'] },
    when: { type: 'string', 'x-service-types': ['datetime'] },
    at: { 'x-service-types': ['datetime'] },
    place: { 'x-service-types': ['geopoint'] },
    area: { 'x-service-types': ['geoshape'] },
  },
}
/** As a client sends it. */
export const FILTERED_SCHEMA_REQUEST = {
  default_type: 'base',
  document_schemas: {
    base: { schema: DOCUMENT_SCHEMA },
    one: {
      schema: {
        type: 'object',
        properties: { body: { 'x-service-types': ['text'] }, hidden: { 'x-service-index': false } },
      },
    },
  },
}

export const FILTERED_SCHEMA: TableSchema | undefined = parseTableSchema(
  FILTERED_SCHEMA_REQUEST,
  undefined,
)
