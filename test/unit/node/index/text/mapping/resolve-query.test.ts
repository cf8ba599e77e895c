import { expect } from 'chai'
import { isServiceError } from '../../../../../../lib/errors.ts'
import { runAtOnce } from '../../../../../../lib/sliced.ts'
import { FieldMapping } from '../../../../../../node/index/text/mapping/field-mapping.ts'
import { resolveQuery } from '../../../../../../node/index/text/mapping/resolve-query.ts'
import { parseTableSchema } from '../../../../../../node/schema/table-schema.ts'
import { compareTexts } from '../../../../../../node/index/text/encoding/compare-texts.ts'
import type { EngineQuery } from '../../../../../../node/index/text/engine-query.ts'
import type { Query } from '../../../../../../node/query/query-tree.ts'

const types = (...names: string[]) => ({ 'x-service-types': names })
const MAPPING = new FieldMapping(
  parseTableSchema(
    {
      document_schemas: {
        doc: {
          schema: {
            'x-service-include-in-all': ['text'],
            properties: {
              text: types('text', 'keyword', 'search_as_you_type'),
              key: types('keyword'),
              size: types('numeric'),
              at: types('datetime'),
              on: types('boolean'),
              loc: types('geopoint'),
              off: { ...types('text'), 'x-service-index': false },
              blob: types('blob'),
            },
          },
        },
      },
    },
    undefined,
  ),
)
const ANY = { min: undefined, max: undefined, inclusiveMin: true, inclusiveMax: true }
const MATCH = {
  kind: 'match',
  operator: 'or',
  fuzziness: 0,
  prefixLength: 0,
  analyzer: undefined,
  boost: 1,
} as const
const PHRASE = { kind: 'phrase', slop: 0, fuzziness: 0, analyzer: undefined, boost: 1 } as const
const BOOLEAN = {
  kind: 'boolean',
  must: [],
  should: [],
  minShould: 0,
  mustNot: [],
  filter: [],
  boost: 1,
} as const

function resolve(query: Query): EngineQuery {
  return runAtOnce(resolveQuery(query, MAPPING)).query
}

const term = (field: string, word: string, boost = 1): EngineQuery => ({
  kind: 'term',
  field,
  term: word,
  boost,
})
const range = (field: string, min: number, max: number): EngineQuery => ({
  kind: 'range',
  field,
  min,
  max,
  boost: 1,
})

const CASES: readonly { query: Query; expected: EngineQuery }[] = [
  { query: { kind: 'all', boost: 2 }, expected: { kind: 'all', boost: 2 } },
  { query: { kind: 'none', boost: 1 }, expected: { kind: 'none' } },
  { query: { ...MATCH, field: 'text', text: 'The Cat' }, expected: term('text', 'cat') },
  {
    query: { ...MATCH, field: undefined, text: 'Cat', boost: 3 },
    expected: term('_all', 'cat', 3),
  },
  {
    query: { ...MATCH, field: 'text', text: 'a b c b' },
    expected: { ...BOOLEAN, should: [term('text', 'b'), term('text', 'c')], minShould: 1 },
  },
  {
    query: { ...MATCH, field: 'text', text: 'b c', operator: 'and' },
    expected: { ...BOOLEAN, must: [term('text', 'b'), term('text', 'c')] },
  },
  { query: { ...MATCH, field: 'key', text: 'New York' }, expected: term('key', 'New York') },
  {
    query: { ...MATCH, field: 'text', text: 'running', analyzer: 'english' },
    expected: term('text', 'run'),
  },
  {
    query: { ...MATCH, field: 'text._2gram', text: 'Wizards' },
    expected: term('text__2gram', 'wiza'),
  },
  { query: { ...MATCH, field: 'size', text: '1.5' }, expected: range('size', 1.5, 1.5) },
  { query: { ...MATCH, field: 'text', text: 'the' }, expected: { kind: 'none' } },
  {
    query: { kind: 'term', field: 'text.keyword', term: 'A b', boost: 1 },
    expected: term('text__keyword', 'A b'),
  },
  {
    query: { kind: 'term', field: 'at', term: '1970-01-02', boost: 1 },
    // The whole day.
    expected: range('at', 86_400_000, 172_799_999.999_999_97),
  },
  {
    query: { ...PHRASE, field: 'text', text: 'state of the art', slop: 2 },
    expected: {
      kind: 'phrase',
      field: 'text',
      positions: [
        { offset: 0, terms: ['state'] },
        { offset: 3, terms: ['art'] },
      ],
      slop: 2,
      boost: 1,
    },
  },
  { query: { ...PHRASE, field: 'text', text: 'art' }, expected: term('text', 'art') },
  {
    query: {
      kind: 'phrase-terms',
      field: 'text',
      positions: [['a', 'b'], ['c']],
      slop: 0,
      boost: 1,
    },
    expected: {
      kind: 'phrase',
      field: 'text',
      positions: [
        { offset: 0, terms: ['a', 'b'] },
        { offset: 1, terms: ['c'] },
      ],
      slop: 0,
      boost: 1,
    },
  },
  {
    query: {
      kind: 'fuzzy',
      field: 'text',
      term: 'AB',
      fuzziness: 'auto',
      prefixLength: 0,
      boost: 1,
    },
    expected: term('text', 'ab'),
  },
  {
    query: { kind: 'numbers', field: 'size', bounds: { ...ANY, min: 1 }, boost: 1 },
    expected: range('size', 1, Infinity),
  },
  {
    query: {
      kind: 'numbers',
      field: 'size',
      bounds: { ...ANY, min: 0, max: 1, inclusiveMin: false, inclusiveMax: false },
      boost: 1,
    },
    expected: range('size', Number.MIN_VALUE, 1 - Number.EPSILON / 2),
  },
  {
    query: {
      kind: 'numbers',
      field: 'size',
      bounds: { ...ANY, min: -1, max: 0, inclusiveMin: false, inclusiveMax: false },
      boost: 1,
    },
    expected: range('size', -1 + Number.EPSILON / 2, -Number.MIN_VALUE),
  },
  {
    query: {
      kind: 'numbers',
      field: 'size',
      bounds: { ...ANY, min: 1, max: 1, inclusiveMin: false },
      boost: 1,
    },
    expected: { kind: 'none' },
  },
  {
    query: { kind: 'untyped-range', field: 'size', bounds: { ...ANY, max: '-2e1' }, boost: 1 },
    expected: range('size', -Infinity, -20),
  },
  {
    query: {
      kind: 'untyped-range',
      field: 'at',
      bounds: { ...ANY, min: '1970-01-01T00:00:01Z' },
      boost: 1,
    },
    expected: range('at', 1000, Infinity),
  },
  {
    query: { kind: 'dates', field: 'at', bounds: { ...ANY, min: 5 }, boost: 1 },
    expected: range('at', 5, Infinity),
  },
  { query: { kind: 'bool', field: 'on', value: true, boost: 1 }, expected: term('on', 'true') },
  {
    query: { kind: 'ids', ids: ['é'], boost: 1 },
    expected: { kind: 'keys', keys: [Uint8Array.of(0xc3, 0xa9)], boost: 1 },
  },
  {
    query: { ...BOOLEAN, mustNot: [{ kind: 'term', field: 'key', term: 'x', boost: 1 }] },
    expected: { ...BOOLEAN, must: [{ kind: 'all', boost: 1 }], mustNot: [term('key', 'x')] },
  },
  { query: { kind: 'term', field: 'nowhere', term: 'x', boost: 1 }, expected: { kind: 'none' } },
  {
    query: {
      kind: 'multi-match',
      fields: ['text__2gram', 'nowhere'],
      text: 'Wizards',
      fuzziness: 0,
      boost: 1,
    },
    expected: { kind: 'best', parts: [term('text__2gram', 'wiza')], boost: 1 },
  },
]

const point = (lon: number, lat: number) => ({ lon, lat })
const REFUSED: readonly { query: Query; words: string }[] = [
  { query: { kind: 'term', field: 'off', term: 'x', boost: 1 }, words: 'x-service-index' },
  { query: { kind: 'term', field: 'blob', term: 'x', boost: 1 }, words: 'x-service-types' },
  { query: { kind: 'numbers', field: 'text', bounds: ANY, boost: 1 }, words: 'keyword' },
  { query: { kind: 'terms', field: 'text', bounds: ANY, boost: 1 }, words: 'keyword' },
  { query: { kind: 'untyped-range', field: 'on', bounds: ANY, boost: 1 }, words: 'boolean' },
  {
    query: { kind: 'untyped-range', field: 'size', bounds: { ...ANY, min: 'big' }, boost: 1 },
    words: '"big"',
  },
  {
    query: { kind: 'untyped-range', field: 'at', bounds: { ...ANY, min: 'soon' }, boost: 1 },
    words: '"soon"',
  },
  {
    query: { kind: 'numbers', field: 'size', bounds: { ...ANY, min: NaN }, boost: 1 },
    words: 'not a number',
  },
  {
    query: { kind: 'numbers', field: 'size', bounds: { ...ANY, min: 2, max: 1 }, boost: 1 },
    words: 'reversed range',
  },
  {
    query: { kind: 'terms', field: 'key', bounds: { ...ANY, min: 'b', max: 'a' }, boost: 1 },
    words: 'reversed range',
  },
  { query: { ...MATCH, field: 'size', text: 'x' }, words: 'numbers' },
  { query: { kind: 'prefix', field: 'size', prefix: '1', boost: 1 }, words: 'number' },
  { query: { kind: 'regexp', field: 'key', pattern: '(', boost: 1 }, words: 'pattern' },
  { query: { kind: 'ip', field: 'key', cidr: '10.0.0.0/40', boost: 1 }, words: 'CIDR' },
  { query: { kind: 'bool', field: 'size', value: true, boost: 1 }, words: 'boolean' },
  {
    query: { kind: 'geo-distance', field: 'key', centre: point(0, 0), metres: 1, boost: 1 },
    words: 'geopoint',
  },
]

const EXPANSIONS: readonly {
  query: Query
  prefix: string
  yes: readonly string[]
  no: readonly string[]
}[] = [
  {
    query: { kind: 'prefix', field: 'text', prefix: 'Ca', boost: 1 },
    prefix: 'ca',
    yes: ['ca', 'cat'],
    no: ['c', 'dca'],
  },
  {
    query: { kind: 'wildcard', field: 'key', pattern: 'a*b?\\*', boost: 1 },
    prefix: 'a',
    yes: ['abc*', 'axxb😀*'],
    no: ['ab*', 'abcd', 'Abc*'],
  },
  {
    query: { kind: 'wildcard', field: 'key', pattern: '*a*a*b', boost: 1 },
    prefix: '',
    yes: ['aab', 'xaxaxb'],
    no: ['a'.repeat(200)],
  },
  {
    query: { kind: 'regexp', field: 'key', pattern: 'ab+c|x', boost: 1 },
    prefix: '',
    yes: ['abbc', 'x'],
    no: ['xabc', 'ac', 'abcx'],
  },
  {
    query: { kind: 'regexp', field: 'key', pattern: 'abc?d', boost: 1 },
    prefix: 'ab',
    yes: ['abd', 'abcd'],
    no: ['ab', 'abccd'],
  },
  {
    query: {
      kind: 'fuzzy',
      field: 'text',
      term: 'kitten',
      fuzziness: 2,
      prefixLength: 1,
      boost: 1,
    },
    prefix: 'k',
    yes: ['kitten', 'kittens', 'kiten', 'kitetn', 'kit😀en', 'ktiten'],
    no: ['sitten', 'kitchens', 'kit'],
  },
  {
    query: { ...MATCH, field: 'text', text: 'Whale', fuzziness: 'auto' },
    prefix: '',
    yes: ['whale', 'whales', 'hwale'],
    no: ['wall'],
  },
  {
    query: {
      kind: 'terms',
      field: 'key',
      bounds: { min: 'ab', max: 'ad', inclusiveMin: true, inclusiveMax: false },
      boost: 1,
    },
    prefix: 'a',
    yes: ['ab', 'abz', 'ac'],
    no: ['aa', 'ad', 'b'],
  },
  {
    query: { kind: 'terms', field: 'key', bounds: { ...ANY, min: '\uffee' }, boost: 1 },
    prefix: '',
    yes: ['😀'],
    no: ['a'],
  },
  {
    query: { kind: 'terms', field: 'key', bounds: { ...ANY, max: '😀' }, boost: 1 },
    prefix: '',
    yes: ['a', '\uffee'],
    no: ['😁'],
  },
  {
    query: { kind: 'ip', field: 'key', cidr: '10.1.0.0/12', boost: 1 },
    prefix: '10.',
    yes: ['10.0.0.1', '10.15.255.255'],
    no: ['10.16.0.0', '10', 'text'],
  },
  {
    query: { kind: 'ip', field: 'text', cidr: '2001:db8::/32', boost: 1 },
    prefix: '',
    yes: ['2001:db8::1'],
    no: ['2001:db9::1', '10.0.0.1'],
  },
]

describe('resolveQuery', () => {
  for (const { query, expected } of CASES) {
    it(`resolves ${JSON.stringify(query).slice(0, 90)}`, () => {
      const resolved = resolve(query)
      // The terms of numbers beyond doubles: exact-numbers.test.ts.
      if (resolved.kind === 'range') delete (resolved as { exact?: unknown }).exact
      expect(resolved).to.deep.equal(expected)
    })
  }

  for (const { query, words } of REFUSED) {
    it(`refuses ${JSON.stringify(query).slice(0, 90)}`, () => {
      let thrown: unknown
      try {
        resolve(query)
      } catch (error) {
        thrown = error
      }
      expect(isServiceError(thrown) && thrown.code).to.equal('INVALID_ARGUMENT')
      expect(String(thrown)).to.include(words)
    })
  }

  for (const { query, prefix, yes, no } of EXPANSIONS) {
    it(`expands ${JSON.stringify(query).slice(0, 90)}`, () => {
      const resolved = resolve(query)

      if (resolved.kind !== 'expand') throw new TypeError(`resolved to ${resolved.kind}`)
      expect(resolved.matcher.prefix).to.equal(prefix)
      const { upTo } = resolved.matcher
      const isAbove = (one: string): boolean => upTo !== undefined && compareTexts(one, upTo) > 0
      const missing = yes.filter((one) => !resolved.matcher.matches(one) || isAbove(one))
      expect(missing).to.deep.equal([])
      expect(no.filter((one) => resolved.matcher.matches(one))).to.deep.equal([])
    })
  }

  it('warns about an unknown field once', () => {
    const unknown: Query = { kind: 'term', field: 'nowhere', term: 'x', boost: 1 }

    const { warnings } = runAtOnce(
      resolveQuery({ ...BOOLEAN, should: [unknown, unknown] }, MAPPING),
    )

    expect(warnings).to.deep.equal(['no document has a field "nowhere"'])
  })
})
