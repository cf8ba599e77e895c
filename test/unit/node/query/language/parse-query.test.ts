import { expect } from 'chai'
import * as fc from 'fast-check'
import { isServiceError } from '../../../../../lib/errors.ts'
import { parseExact } from '../../../../../node/document/exact-json.ts'
import { parseQuery } from '../../../../../node/query/language/parse-query.ts'
import type { JsonValue } from '../../../../../node/document/exact-json.ts'
import type { Query } from '../../../../../node/query/query-tree.ts'

const parse = (text: string) => parseQuery(parseExact(text), 'q')
const place = { field: 'f', boost: 1 }
const term = (text: string) => ({ kind: 'term', field: 'f', term: text, boost: 1 })
const boolean = (parts: object) => ({
  kind: 'boolean',
  must: [],
  should: [],
  minShould: 0,
  mustNot: [],
  filter: [],
  boost: 1,
  ...parts,
})
const bounds = { inclusiveMin: true, inclusiveMax: false }
const [A, B] = ['{"term":"a","field":"f"}', '{"term":"b","field":"f"}']
const [a, b] = [term('a'), term('b')]

interface Row {
  readonly text: string
  readonly tree: object
}

// A new kind is a compile error here.
const byKind: Record<Query['kind'], readonly Row[]> = {
  all: [
    { text: '{"match_all":{}}', tree: { kind: 'all', boost: 1 } },
    { text: '{"query":"","boost":2}', tree: { kind: 'all', boost: 2 } },
  ],
  none: [{ text: '{"match_none":{},"boost":0}', tree: { kind: 'none', boost: 0 } }],
  term: [
    { text: A, tree: a },
    { text: '{"term":{"f":"a"},"boost":2.5}', tree: { ...a, boost: 2.5 } },
    { text: '{"term":"a"}', tree: { ...a, field: undefined } },
    { text: '{"term":9007199254740993,"field":"f"}', tree: term('9007199254740993') },
    { text: '{"term":true,"field":"f"}', tree: term('true') },
  ],
  match: [
    {
      text: '{"match":"x y","field":"f","operator":"and","fuzziness":"auto","prefix_length":1,"analyzer":"english"}',
      tree: {
        ...place,
        kind: 'match',
        text: 'x y',
        operator: 'and',
        fuzziness: 'auto',
        prefixLength: 1,
        analyzer: 'english',
      },
    },
    {
      text: '{"query":"x","field":"f","default_operator":"and"}',
      tree: {
        ...place,
        kind: 'match',
        text: 'x',
        operator: 'and',
        fuzziness: 0,
        prefixLength: 0,
        analyzer: undefined,
      },
    },
  ],
  phrase: [
    {
      text: '{"match_phrase":"x y","field":"f","slop":2,"fuzziness":1}',
      tree: {
        ...place,
        kind: 'phrase',
        text: 'x y',
        slop: 2,
        fuzziness: 1,
        analyzer: undefined,
      },
    },
  ],
  'phrase-terms': [
    {
      text: '{"terms":["x",["y","z"]],"field":"f"}',
      tree: { ...place, kind: 'phrase-terms', positions: [['x'], ['y', 'z']], slop: 0 },
    },
  ],
  fuzzy: [
    {
      text: '{"term":"x","fuzziness":2,"prefix_length":1,"field":"f"}',
      tree: { ...place, kind: 'fuzzy', term: 'x', fuzziness: 2, prefixLength: 1 },
    },
  ],
  prefix: [{ text: '{"prefix":"x","field":"f"}', tree: { ...place, kind: 'prefix', prefix: 'x' } }],
  exists: [
    { text: '{"query":"f:*"}', tree: { ...place, kind: 'exists' } },
    { text: '{"wildcard":"*","field":"f"}', tree: { ...place, kind: 'exists' } },
  ],
  wildcard: [
    { text: '{"wildcard":"x*","field":"f"}', tree: { ...place, kind: 'wildcard', pattern: 'x*' } },
  ],
  regexp: [
    { text: '{"regexp":"x+","field":"f"}', tree: { ...place, kind: 'regexp', pattern: 'x+' } },
  ],
  numbers: [
    {
      text: '{"min":1,"max":1,"inclusive_max":true,"field":"f"}',
      tree: {
        ...place,
        kind: 'numbers',
        bounds: { min: 1, max: 1, inclusiveMin: true, inclusiveMax: true },
      },
    },
  ],
  terms: [
    {
      text: '{"max":"x","field":"f"}',
      tree: { ...place, kind: 'terms', bounds: { ...bounds, min: undefined, max: 'x' } },
    },
  ],
  dates: [
    {
      text: '{"start":"2024-05-01","end":"2024-05-01T02:00:00+01:00","datetime_parser":"dateTimeOptional","field":"f"}',
      tree: {
        ...place,
        kind: 'dates',
        bounds: { ...bounds, min: Date.UTC(2024, 4, 1), max: Date.UTC(2024, 4, 1, 1) },
      },
    },
  ],
  'untyped-range': [
    {
      text: '{"query":">5","field":"f"}',
      tree: {
        ...place,
        kind: 'untyped-range',
        bounds: { min: '5', max: undefined, inclusiveMin: false, inclusiveMax: false },
      },
    },
  ],
  bool: [{ text: '{"bool":false,"field":"f"}', tree: { ...place, kind: 'bool', value: false } }],
  'any-of': [
    {
      text: '{"terms":{"field":"f","values":["a",1.5,true]}}',
      tree: { ...place, kind: 'any-of', values: ['a', '1.5', 'true'] },
    },
  ],
  ip: [
    {
      text: '{"cidr":"10.0.0.0/8","field":"f"}',
      tree: { ...place, kind: 'ip', cidr: '10.0.0.0/8' },
    },
    { text: '{"cidr":"::1/128","field":"f"}', tree: { ...place, kind: 'ip', cidr: '::1/128' } },
  ],
  ids: [{ text: '{"ids":["x","y"]}', tree: { kind: 'ids', ids: ['x', 'y'], boost: 1 } }],
  boolean: [
    { text: `{"conjuncts":[${A},${B}]}`, tree: boolean({ must: [a, b] }) },
    { text: `{"disjuncts":[${A},${B}]}`, tree: boolean({ should: [a, b], minShould: 1 }) },
    { text: `{"disjuncts":[${A}],"min":0}`, tree: boolean({ should: [a], minShould: 1 }) },
    { text: `{"must_not":{"disjuncts":[${A},${B}]}}`, tree: boolean({ mustNot: [a, b] }) },
    {
      text: `{"must_not":{"disjuncts":[${A},${B}],"min":2}}`,
      tree: boolean({ mustNot: [boolean({ should: [a, b], minShould: 2 })] }),
    },
    {
      text: `{"must":{"conjuncts":[${A}],"boost":2},"should":{"disjuncts":[${B}]},"filter":${B}}`,
      tree: boolean({ must: [{ ...a, boost: 2 }], should: [b], filter: [b] }),
    },
    {
      text: `{"must":${A},"should":{"disjuncts":[${A},${B}],"min":1,"boost":3}}`,
      tree: boolean({
        must: [a],
        should: [
          { ...a, boost: 3 },
          { ...b, boost: 3 },
        ],
        minShould: 1,
      }),
    },
    { text: `{"should":${A}}`, tree: boolean({ should: [a], minShould: 1 }) },
    {
      text: `{"should":${A},"must_not":${B}}`,
      tree: boolean({ should: [a], minShould: 1, mustNot: [b] }),
    },
  ],
  'geo-box': [
    {
      text: '{"top_left":[170,10],"bottom_right":{"lat":-10,"lon":-170},"field":"f"}',
      tree: {
        ...place,
        kind: 'geo-box',
        topLeft: { lon: 170, lat: 10 },
        bottomRight: { lon: -170, lat: -10 },
      },
    },
  ],
  'geo-distance': [
    {
      text: '{"location":"52.5,13.4","distance":"2nm","field":"f"}',
      tree: { ...place, kind: 'geo-distance', centre: { lon: 13.4, lat: 52.5 }, metres: 3704 },
    },
  ],
  'geo-polygon': [
    {
      text: '{"polygon_points":[{"lon":0,"lat":0},{"lng":1,"lat":0},[0,1]],"field":"f"}',
      tree: {
        ...place,
        kind: 'geo-polygon',
        points: [
          { lon: 0, lat: 0 },
          { lon: 1, lat: 0 },
          { lon: 0, lat: 1 },
        ],
      },
    },
  ],
  'geo-shape': [
    {
      text: '{"geometry":{"shape":{"type":"Point","coordinates":[1,2]},"relation":"within"},"field":"f"}',
      tree: {
        ...place,
        kind: 'geo-shape',
        shape: [
          {
            kind: 'point',
            paths: [[{ lon: 1, lat: 2 }]],
            box: { west: 1, east: 1, south: 2, north: 2 },
          },
        ],
        relation: 'within',
      },
    },
  ],
  simple: [
    {
      text: '{"simple":{"query":"a -\\"b","boost":2},"boost":3}',
      tree: { kind: 'simple', text: 'a -"b', fields: undefined, boost: 6 },
    },
    {
      text: '{"simple":{"query":"x","fields":["f^2.5","g.h"]}}',
      tree: {
        kind: 'simple',
        text: 'x',
        fields: [
          { name: 'f', boost: 2.5 },
          { name: 'g.h', boost: 1 },
        ],
        boost: 1,
      },
    },
  ],
  'multi-match': [
    {
      text: '{"multi_match":{"query":"x","fields":["f","g"],"type":"bool_prefix","boost":2}}',
      tree: { kind: 'multi-match', fields: ['f', 'g'], text: 'x', fuzziness: 0, boost: 2 },
    },
    {
      text: '{"multi_match":{"query":"x","fields":["f"],"type":"bool_prefix","fuzziness":"auto"}}',
      tree: { kind: 'multi-match', fields: ['f'], text: 'x', fuzziness: 'auto', boost: 1 },
    },
  ],
}

const nested = (depth: number) =>
  `${'{"must":'.repeat(depth - 1)}{"match_all":{}}${'}'.repeat(depth - 1)}`
const shape = (type: string, coordinates: string) =>
  `{"geometry":{"shape":{"type":"${type}","coordinates":${coordinates}}}}`

describe('parseQuery', () => {
  for (const { text, tree } of Object.values(byKind).flat()) {
    it(`reads ${text}`, () => {
      expect(parse(text)).to.deep.equal(tree)
    })
  }

  it('keeps all digits of a bound that a double cannot carry', () => {
    expect(parse('{"min":9007199254740993,"field":"f"}')).to.deep.include({
      bounds: { ...bounds, min: 9007199254740992, max: undefined },
      exact: { ...bounds, min: '9007199254740993', max: undefined },
    })
  })

  const refused: Record<string, string> = {
    '5': 'q: must be an object, not number',
    '{}': 'q: not a query: it must have one of disjuncts, match_all',
    '{"term":"a","x":1}': 'q: unknown field "x"; allowed here are term, field, fuzziness',
    '{"must":{"term":"a","x":1}}': 'q.must: unknown field "x"',
    '{"term":"a","prefix_length":1}': 'q.prefix_length: belongs to a fuzzy term',
    '{"term":"a","fuzziness":3}': 'q.fuzziness: must be 0, 1, 2 or "auto"',
    '{"term":"a","boost":-1}': 'q.boost: must be a number of at least 0',
    '{"term":"a","boost":1e400}': 'q.boost: must be a number',
    '{"term":"a","field":"a..b"}': 'q.field: empty segment',
    '{"query":"a (b"}': 'q.query: query string, column 5: expected ")"',
    '{"query":5}': 'q.query: must be a string',
    '{"query":"a","default_operator":"xor"}': 'q.default_operator: must be "or" or "and"',
    '{"terms":[]}': 'q.terms: must be an array of at least one term',
    '{"terms":[["a"],[]]}': 'q.terms[1]: must hold at least one term',
    '{"terms":["a",5]}': 'q.terms[1]: must be a string',
    '{"match":"a","prefix_length":-1}': 'q.prefix_length: must be an integer of at least 0',
    '{"match_phrase":"a","slop":1e9}': 'q.slop: must be an integer of at least 0 and at most 1000',
    '{"min":2,"max":1}': 'q: the lower bound of the range is above its upper bound',
    '{"min":"b","max":"a"}': 'q: the lower bound of the range',
    '{"min":1e400}': 'q.min: must be a number, not one beyond the range of a double',
    '{"min":1,"max":"2"}': 'q: min and max must be two numbers or two strings',
    '{"start":"yesterday"}': 'q.start: not a date: "yesterday"',
    '{"end":"2024-02-30"}': 'q.end: not a date: "2024-02-30"',
    '{"start":5}': 'q.start: must be a string',
    '{"start":"2024-05-02","end":"2024-05-01"}': 'q: the lower bound of the range',
    '{"start":"2024-05-02","datetime_parser":"mine"}': 'q.datetime_parser: must be',
    '{"cidr":"10.0.0.0/33"}': 'q.cidr: not an address range: "10.0.0.0/33"',
    '{"cidr":"10.0.0/8"}': 'q.cidr: not an address range',
    '{"cidr":"10.0.0.0/8/8"}': 'q.cidr: not an address range',
    '{"cidr":"::1/ 1"}': 'q.cidr: not an address range',
    '{"cidr":"fe80::1%eth0"}': 'q.cidr: not an address range',
    '{"ids":[5]}': 'q.ids[0]: must be a string',
    '{"top_left":[0,0],"bottom_right":[1,1]}': 'q: top_left lies south of bottom_right',
    '{"top_left":[181,0],"bottom_right":[1,1]}': 'q.top_left: the longitude must be',
    '{"top_left":[0,91],"bottom_right":[1,1]}': 'q.top_left: the latitude must be',
    '{"top_left":[0,0]}': 'q.bottom_right: not a point',
    '{"location":"1.2.3,4","distance":"1km"}': 'q.location: not a point',
    '{"location":[0,0],"distance":"10 parsec"}': 'q.distance: not a distance: "10 parsec"',
    '{"location":[0,0],"distance":"-1km"}': 'q.distance: not a distance',
    '{"location":[0,0]}': 'q.distance: must be a string',
    '{"polygon_points":[[0,0],[1,1]]}': 'q.polygon_points: must hold at least three points',
    '{"polygon_points":[[0,0],[1,1],[0,"1"]]}': 'q.polygon_points[2][1]: must be a number',
    '{"geometry":{"shape":{"type":"Blob"}}}': 'q.geometry.shape.type: must be one of Point',
    '{"geometry":{"shape":5}}': 'q.geometry.shape: must be a GeoJSON geometry',
    '{"geometry":{"shape":{"type":"GeometryCollection","geometries":[]}}}':
      'q.geometry.shape.geometries: must be an array of at least one geometry',
    [shape('Point', '[0,91]')]: 'q.geometry.shape.coordinates: the latitude must be',
    [shape('LineString', '[[0,0]]')]:
      'q.geometry.shape.coordinates: must be an array of at least 2',
    [shape('Polygon', '[[[0,0],[1,0],[1,1],[0,1]]]')]:
      'q.geometry.shape.coordinates[0]: must end with its first position',
    '{"multi_match":{"query":"x","fields":[],"type":"bool_prefix"}}':
      'q.multi_match.fields: must be an array of at least one field',
    '{"multi_match":{"query":"x","fields":["f"]}}': 'q.multi_match.type: must be "bool_prefix"',
    '{"disjuncts":[{"match_all":{}}],"min":0.5}': 'q.min: must be an integer',
    [nested(21)]: 'nested deeper than 20 levels',
    [nested(10_000)]: 'nested deeper than 20 levels',
    [`{"query":"${'a '.repeat(1024)}"}`]: 'a query may have at most 1024 clauses',
    [`{"conjuncts":[${Array(1024).fill(A).join(',')}]}`]: 'a query may have at most 1024 clauses',
    [`{"regexp":"${'a'.repeat(1001)}"}`]: 'q.regexp: may have at most 1000 characters',
  }
  for (const [text, message] of Object.entries(refused)) {
    it(`refuses ${text.slice(0, 70)}`, () => {
      expect(() => parse(text))
        .to.throw(message)
        .with.property('code', 'INVALID_ARGUMENT')
    })
  }

  it('reads up to the depth', () => {
    expect(parse(nested(20))).to.have.property('kind', 'boolean')
  })

  it('throws nothing but refusals', () => {
    const names = Object.values(byKind)
      .flat()
      .flatMap(({ text }) => text.match(/"\w+"(?=:)/g) ?? [])
      .map((name) => name.slice(1, -1))
    const { value } = fc.letrec<{ value: JsonValue }>((tie) => ({
      value: fc.oneof(
        { maxDepth: 5 },
        fc.constantFrom('x', '', 'a:(b', '10km', '2024-05-01', true, null, 1, -1, 1e300),
        fc.array(tie('value'), { maxLength: 3 }),
        fc.dictionary(fc.constantFrom(...names), tie('value'), { maxKeys: 3 }),
      ),
    }))
    fc.assert(
      fc.property(value, (json) => {
        try {
          parseQuery(json, 'q')
        } catch (error) {
          if (!isServiceError(error)) throw error
          expect(error.code).to.equal('INVALID_ARGUMENT')
        }
      }),
      { numRuns: 5000 },
    )
  })
})
