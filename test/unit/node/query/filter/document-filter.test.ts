import { expect } from 'chai'
import * as fc from 'fast-check'
import { matchesFilter } from '../../../../../node/query/filter/document-filter.ts'
import { parseDocumentFilter } from '../../../../../node/query/filter/filter-of-query.ts'
import { QUERY_CLAUSES_MAX } from '../../../../../node/query/query-limits.ts'
import { matchesWildcard, parseWildcard } from '../../../../../node/query/wildcard.ts'
import { buildRunTest } from '../../../../../node/query/word-run.ts'
import { parseExact } from '../../../../../node/document/exact-json.ts'
import { isJsonObject } from '../../../../../node/document/json-object.ts'

const DOCUMENT =
  '{"s":"Hello, Wörld-wide Web","n":5,"big":9007199254740993,"t":true,"z":null,"f":0.5,' +
  '"o":{"p":"in"},"l":["x","y",7],"items":[{"k":"one"},{"k":"two"}],"a.b":"dotted","num":"42","at":"2024-05-01T12:00:00Z","ip":"10.1.2.3","neg":-5,"w":"a*b",' +
  '"spot":[4.9,52.4],"spots":[[0,0],{"lat":52.4,"lon":4.9}],' +
  '"trips":[{"at":[0,0]},{"at":[1,1]}],' +
  '"area":{"type":"Polygon","coordinates":[[[4,52],[6,52],[6,53],[4,53],[4,52]]]}}'

const parse = (text: string) => parseDocumentFilter(parseExact(text), 'filter_query')
function matches(filter: string, document = DOCUMENT): boolean {
  const parsed = parseExact(document)
  if (!isJsonObject(parsed)) throw new Error('not an object')
  return matchesFilter(parse(filter), parsed, Buffer.from('kéy'))
}

describe('matchesFilter', () => {
  const yes = [
    '{"match_all":{}}',
    '{"ids":["a","kéy"]}',
    '{"term":"in","field":"o.p","boost":2.5}',
    '{"term":{"o.p":"in"}}',
    '{"term":"x","field":"l"}',
    '{"term":"two","field":"items.k"}',
    '{"term":"dotted","field":"a.b"}',
    '{"term":5,"field":"n"}',
    '{"term":"5","field":"n"}',
    '{"term":"5.0","field":"n"}',
    '{"term":42,"field":"num"}',
    '{"term":9007199254740993,"field":"big"}',
    '{"term":"9007199254740993","field":"big"}',
    '{"term":true,"field":"t"}',
    '{"term":"true","field":"t"}',
    '{"match":"WÖRLD nothing","field":"s"}',
    '{"match":"web hello","field":"s","operator":"and"}',
    '{"match":"y 7","field":"l","operator":"and"}',
    '{"prefix":"Hell","field":"s"}',
    '{"prefix":"","field":"s"}',
    '{"wildcard":"H*W?rld*W*b","field":"s"}',
    '{"min":5,"field":"n"}',
    '{"min":4,"max":5,"inclusive_max":true,"field":"n"}',
    '{"max":8,"field":"l"}',
    '{"min":9007199254740992.5,"field":"big"}',
    '{"min":"x","max":"y","field":"l"}',
    '{"min":"in","field":"o.p"}',
    '{"bool":true,"field":"t"}',
    '{"conjuncts":[{"term":5,"field":"n"},{"bool":true,"field":"t"}]}',
    '{"disjuncts":[{"term":6,"field":"n"},{"bool":true,"field":"t"}]}',
    '{"disjuncts":[{"term":5,"field":"n"},{"bool":true,"field":"t"},{"match_none":{}}],"min":2}',
    '{"must_not":{"disjuncts":[{"term":6,"field":"n"}]}}',
    '{"must_not":{"term":"x","field":"missing"}}',
    '{"must":{"conjuncts":[{"match_all":{}}]},"should":{"disjuncts":[{"match_none":{}}]}}',
    '{"filter":{"term":5,"field":"n"},"should":{"disjuncts":[{"match_none":{}}],"min":0}}',
    '{"should":{"disjuncts":[{"term":5,"field":"n"},{"match_none":{}}]},"boost":1}',
    '{"query":"o.p:in AND n:>4 -t:false"}',
    '{"query":""}',
    '{"query":"s:hello"}',
    '{"query":"s:\\"wide web\\""}',
    '{"query":"wide","field":"s"}',
    '{"query":"s:(nothing OR web)"}',
    '{"query":"n:[5 TO 6}"}',
    '{"query":"neg:<-4"}',
    '{"query":"neg:-5"}',
    '{"query":"big:>=9007199254740993"}',
    '{"query":"at:>\\"2024-05-01\\""}',
    '{"query":"o.p:i* l:q"}',
    '{"query":"w:a\\\\**"}',
    '{"wildcard":"a\\\\*?","field":"w"}',
    '{"match_phrase":"hello WÖRLD","field":"s"}',
    '{"start":"2024-05-01","end":"2024-05-02","field":"at"}',
    '{"min":9007199254740993,"max":9007199254740993,"inclusive_max":true,"field":"big"}',
    '{"cidr":"10.0.0.0/8","field":"ip"}',
    '{"cidr":"10.1.2.3","field":"ip"}',
    '{"query":"n:*"}',
    '{"wildcard":"Hello*Web","field":"s.keyword"}',
    '{"term":"one","field":"items.k__keyword"}',
    '{"query":"o:*"}',
    '{"terms":["hello",["world","wörld"]],"field":"s"}',
    '{"multi_match":{"query":"nothing we","fields":["f","s"],"type":"bool_prefix"}}',
    '{"multi_match":{"query":"web nothing","fields":["s"],"type":"bool_prefix"}}',
    '{"location":[4.9,52.4],"distance":"1km","field":"spot"}',
    '{"location":[4.9,52.4],"distance":"1km","field":"spots"}',
    '{"location":[1,1],"distance":"1km","field":"trips.at"}',
    '{"top_left":[4,53],"bottom_right":[5,52],"field":"spot"}',
    '{"polygon_points":[[4,52],[6,52],[5,54]],"field":"spot"}',
    '{"polygon_points":[[4,52],[6,52],[5,54]],"field":"area"}',
    '{"geometry":{"shape":{"type":"Point","coordinates":[5,52.5]},"relation":"contains"},"field":"area"}',
  ]
  const no = [
    '{"match_none":{}}',
    '{"ids":["a"]}',
    '{"ids":[]}',
    '{"term":"IN","field":"o.p"}',
    '{"term":"in","field":"o"}',
    '{"term":"in","field":"missing.p"}',
    '{"term":"object","field":"constructor.name"}',
    '{"term":"null","field":"z"}',
    '{"term":9007199254740992,"field":"big"}',
    '{"term":1,"field":"t"}',
    '{"term":"five","field":"n"}',
    '{"match":"worlds","field":"s"}',
    '{"match":"hello nothing","field":"s","operator":"and"}',
    '{"match":"  ,","field":"s"}',
    '{"match":"hello","field":"missing"}',
    '{"match":"null","field":"z"}',
    '{"prefix":"hell","field":"s"}',
    '{"prefix":"5","field":"n"}',
    '{"wildcard":"H?","field":"s"}',
    '{"wildcard":"*","field":"missing"}',
    '{"min":5,"inclusive_min":false,"field":"n"}',
    '{"max":5,"field":"n"}',
    '{"min":1,"field":"num"}',
    '{"min":"y","inclusive_min":false,"field":"l"}',
    '{"bool":false,"field":"t"}',
    '{"bool":false,"field":"missing"}',
    '{"conjuncts":[{"term":5,"field":"n"},{"bool":false,"field":"t"}]}',
    '{"disjuncts":[{"term":5,"field":"n"},{"match_none":{}}],"min":2}',
    '{"disjuncts":[{"match_all":{}}],"min":2}',
    '{"must_not":{"term":5,"field":"n"}}',
    '{"must":{"match_all":{}},"should":{"disjuncts":[{"match_none":{}}],"min":1}}',
    '{"should":{"disjuncts":[{"match_none":{}}]}}',
    '{"should":{"disjuncts":[{"match_none":{}}],"min":0}}',
    '{"must":{"match_all":{}},"must_not":{"match_all":{}}}',
    '{"query":"neg:5"}',
    '{"query":"o.p:in AND n:>5"}',
    '{"query":"at:<\\"2024-05-01\\""}',
    '{"query":"s:>a"}',
    '{"query":"w:b\\\\**"}',
    '{"match_phrase":"wide hello","field":"s"}',
    '{"query":"z:*"}',
    '{"term":"in","field":"o.keyword"}',
    '{"query":"missing:*"}',
    '{"match":"hallo","fuzziness":0,"field":"s"}',
    '{"terms":[["world","wörld"],"hello"],"field":"s"}',
    '{"multi_match":{"query":"we nothing","fields":["s"],"type":"bool_prefix"}}',
    '{"location":[4.9,52.4],"distance":"1km","field":"s"}',
    '{"location":[4.9,52.5],"distance":"1km","field":"spots"}',
    '{"location":[4.9,52.4],"distance":"1km","field":"missing"}',
    '{"geometry":{"shape":{"type":"Point","coordinates":[5,55]},"relation":"contains"},"field":"area"}',
    '{"match_phrase":"","field":"s"}',
    '{"start":"2024-05-02","field":"at"}',
    '{"start":"2024-05-02","field":"n"}',
    '{"min":9007199254740992,"max":9007199254740993,"field":"f"}',
    '{"max":9007199254740993,"min":6,"field":"big"}',
    '{"cidr":"10.1.2.4/31","field":"ip"}',
    '{"cidr":"::/0","field":"ip"}',
    '{"cidr":"10.0.0.0/8","field":"n"}',
  ]
  for (const filter of yes) {
    it(`accepts the document for ${filter}`, () => {
      expect(matches(filter)).to.equal(true)
    })
  }
  for (const filter of no) {
    it(`rejects the document for ${filter}`, () => {
      expect(matches(filter)).to.equal(false)
    })
  }

  it('matches numbers within bounds as arithmetic does', () => {
    const flags = fc.record({ low: fc.boolean(), high: fc.boolean() })
    const small = fc.integer({ min: -4, max: 4 })
    fc.assert(
      fc.property(small, small, small, flags, (value, one, other, { low, high }) => {
        const [min, max] = [Math.min(one, other), Math.max(one, other)]
        const filter = { min, max, inclusive_min: low, inclusive_max: high, field: 'x' }
        const expected = (low ? value >= min : value > min) && (high ? value <= max : value < max)
        expect(matches(JSON.stringify(filter), `{"x":${value}}`)).to.equal(expected)
      }),
    )
  })
})

const nested = (depth: number) =>
  `${'{"conjuncts":['.repeat(depth - 1)}{"match_all":{}}${']}'.repeat(depth - 1)}`

const wide = (count: number) => `{"disjuncts":[${Array(count).fill('{"match_all":{}}').join(',')}]}`

describe('parseDocumentFilter', () => {
  it('accepts filters up to the limits', () => {
    expect(matches(nested(20))).to.equal(true)
    expect(matches(wide(QUERY_CLAUSES_MAX - 1))).to.equal(true)
  })

  const refused: Record<string, string> = {
    '5': 'filter_query: must be an object, not number',
    '12345678901234567890': 'filter_query: must be an object, not number',
    '[]': 'filter_query: must be an object, not array',
    '{}': 'filter_query: not a query: it must have one of disjuncts, match_all',
    '{"query":"a:b c"}': 'filter_query: "c" names no field',
    '{"query":"a:(b"}': 'filter_query.query: query string, column 5: expected ")" to close',
    '{"query":"a:\\"b c\\"~2"}': 'filter_query: slop needs an index',
    '{"terms":["b","c"],"slop":1,"field":"a"}': 'filter_query: slop needs an index; search with',
    '{"match_phrase":"b","fuzziness":1,"field":"a"}': 'filter_query: fuzziness of a phrase needs',
    '{"location":[1,2],"distance":"1km"}': 'filter_query: the geo-distance names no field',
    '{"regexp":"x","field":"a"}': 'filter_query: a regular expression needs an index; search with',
    '{"query":"a:b~"}': 'filter_query: fuzziness needs an index',
    '{"term":"x","fuzziness":1,"field":"a"}': 'filter_query: a fuzzy term needs an index',
    [JSON.stringify({
      geometry: {
        shape: { type: 'LineString', coordinates: Array.from({ length: 1001 }, () => [0, 0]) },
      },
      field: 'a',
    })]: 'filter_query: a shape of more than 1000 positions needs an index; search with',
    '{"regexp":"(a","field":"a"}': 'filter_query.regexp: pattern has a group without its',
    '{"match":"x","field":"a","analyzer":"english"}': 'filter_query: an analyzer needs an index',
    '{"term":"x"}': 'filter_query: the term names no field',
    '{"term":"x","field":5}': 'filter_query.field: must be a string, the name of a field',
    '{"term":"x","field":""}': 'filter_query.field: empty segment',
    '{"term":"x","field":"a..b"}': 'filter_query.field: empty segment',
    '{"term":null,"field":"a"}': 'filter_query.term: must be a string, a number or a boolean',
    '{"term":[],"field":"a"}': 'filter_query.term: must be',
    '{"term":{"a":1,"b":2}}': 'filter_query.term: an object here must be of the form',
    '{"term":{"a":1},"field":"a"}': 'filter_query.term: an object here must',
    '{"term":{"a":null}}': 'filter_query.term.a: must be a string, a number or a boolean',
    '{"prefix":"x","fuzziness":1,"field":"a"}':
      'unknown field "fuzziness"; allowed here are prefix, field, boost',
    '{"term":"x","field":"a","boost":-1}': 'filter_query.boost: must be a number of at least 0',
    '{"term":"x","field":"a","boost":"2"}': 'filter_query.boost: must be a number',
    '{"term":"x","match":"y","field":"a"}': 'unknown field "match"',
    '{"match":5,"field":"a"}': 'filter_query.match: must be a string',
    '{"match":"x","operator":"AND","field":"a"}': 'filter_query.operator: must be "or" or "and"',
    '{"prefix":5,"field":"a"}': 'filter_query.prefix: must be a string',
    [`{"wildcard":"${'*'.repeat(1001)}","field":"a"}`]:
      'filter_query.wildcard: may have at most 1000',
    '{"min":1,"max":"2","field":"a"}': 'min and max must be two numbers or two strings',
    '{"min":null,"field":"a"}': 'min and max must be two numbers or two strings',
    '{"min":1,"inclusive_min":1,"field":"a"}': 'filter_query.inclusive_min: must be true or false',
    '{"bool":"true","field":"a"}': 'filter_query.bool: must be true or false',
    '{"match_all":true}': 'filter_query.match_all: must be an object',
    '{"ids":"a"}': 'filter_query.ids: must be an array of strings',
    '{"ids":[1]}': 'filter_query.ids[0]: must be a string',
    [`{"ids":[${Array(10_001).fill('""').join(',')}]}`]: 'filter_query.ids: may hold at most 10000',
    '{"conjuncts":[]}': 'filter_query.conjuncts: must be an array of at least one query',
    '{"conjuncts":[{"match_all":{}},5]}': 'filter_query.conjuncts[1]: must be an object',
    '{"disjuncts":{}}': 'filter_query.disjuncts: must be an array',
    '{"disjuncts":[{"match_all":{}}],"min":1.5}':
      'filter_query.min: must be an integer of at least 0',
    '{"disjuncts":[{"match_all":{}}],"min":-1}': 'filter_query.min: must be an integer',
    '{"must":[{"match_all":{}}]}': 'filter_query.must: must be an object, not array',
    '{"must":{"term":"x","field":5}}':
      'filter_query.must.field: must be a string, the name of a field',
    '{"min":9007199254740993,"max":9007199254740992,"field":"a"}':
      'filter_query: the lower bound of the range is above its upper bound',
    [nested(21)]: 'nested deeper than 20 levels',
    [wide(QUERY_CLAUSES_MAX)]: 'a query may have at most 1024 clauses',
  }
  for (const [text, message] of Object.entries(refused)) {
    it(`refuses ${text.slice(0, 60)}`, () => {
      expect(() => parse(text))
        .to.throw(message)
        .with.property('code', 'INVALID_ARGUMENT')
    })
  }
})

describe('buildRunTest', () => {
  it('finds a run at every position', () => {
    const words = fc.array(fc.constantFrom('a', 'b'), { maxLength: 12 })
    const run = fc.array(fc.constantFrom('a', 'b'), { minLength: 1, maxLength: 4 })
    fc.assert(
      fc.property(words, run, (text, wanted) => {
        const expected = ` ${text.join(' ')} `.includes(` ${wanted.join(' ')} `)
        expect(buildRunTest(wanted.map((word) => [word]))(text)).to.equal(expected)
      }),
      { numRuns: 3000 },
    )
  })
})

describe('matchesWildcard', () => {
  it('agrees with a regular expression', () => {
    const pattern = fc.string({ unit: fc.constantFrom('a', 'b', '*', '?', '😀'), maxLength: 8 })
    const text = fc.string({ unit: fc.constantFrom('a', 'b', '😀'), maxLength: 10 })
    fc.assert(
      fc.property(pattern, text, (glob, value) => {
        const regex = new RegExp(`^${glob.replaceAll('*', '.*').replaceAll('?', '.')}$`, 'u')
        expect(matchesWildcard(parseWildcard(glob), value)).to.equal(regex.test(value))
      }),
      { numRuns: 3000 },
    )
  })

  it('does not explode on hostile patterns', () => {
    expect(matchesWildcard(parseWildcard('*a'.repeat(500)), 'a'.repeat(10_000) + 'b')).to.equal(
      false,
    )
  })
})
