import { expect } from 'chai'
import * as fc from 'fast-check'
import type { JsonObject, JsonValue } from '../../../../../../node/document/exact-json.ts'
import { parseQuery } from '../../../../../../node/query/language/parse-query.ts'
import { readSimpleText } from '../../../../../../node/query/simple-text.ts'
import { parseTableSchema } from '../../../../../../node/schema/table-schema.ts'
import { EVERYTHING, MemoryTextIndex } from '../../../../../support/worlds/memory-text-index.ts'

const PACKAGES: Readonly<Record<string, JsonObject>> = {
  a: { name: 'requests', about: 'HTTP for humans, in Python' },
  b: { name: 'requests-mock', about: 'a mock of the requests package for tests in Python' },
  c: { name: 'python3-requests', about: 'the Python 3 package of requests' },
  d: { name: 'nginx', about: 'a web server; see https://nginx.org' },
  e: { name: 'editor', about: 'edits text, draft of a new one' },
  f: { name: 'text-tools', about: 'tools that sort and edit a text' },
}
const INDEX = new MemoryTextIndex(PACKAGES)

function search(simple: JsonObject, index = INDEX) {
  const query = parseQuery({ simple }, 'query')
  return index.search({ ...EVERYTHING, conditions: { ...EVERYTHING.conditions, query } })
}

function keys(typed: string, more: JsonObject = {}, index = INDEX): readonly string[] {
  const { hits } = search({ query: typed, ...more }, index)
  return hits.map(({ key }) => Buffer.from(key).toString())
}

describe('a simple query', () => {
  for (const [typed, found] of [
    ['requests', ['a', 'b', 'c']],
    ['python3-requests', ['c', 'b', 'a']],
    ['reqests', ['a', 'b', 'c']],
    ['https://nginx.org', ['d']],
    ['web serv', ['d']],
    ['"package of requests"', ['c']],
    ['“package of requests”', ['c']],
    ['requests -mock', ['a', 'c']],
    ['requests -"python 3"', ['a', 'b']],
    ['editor draft', ['e']],
    ['tools sort text missing', ['f']],
    ['nothing of this kind', []],
  ] as const) {
    it(`finds ${JSON.stringify(found)} by ${typed}`, () => {
      expect(keys(typed)).to.have.members([...found])
    })
  }

  it('puts a whole value first, then its exact words, then typos', () => {
    const names = ['python3-requests', 'requests', 'nginx', 'requests-mock']
    expect(names.map((name) => keys(name)[0])).to.deep.equal(['c', 'a', 'd', 'b'])
    const typos = new MemoryTextIndex({
      a: { t: 'chert' },
      b: { t: 'a chart of the sea and the land' },
      c: { t: 'charts' },
    })
    expect(keys('chart', {}, typos)).to.deep.equal(['b', 'c', 'a'])
  })

  it('puts words in a row before the same words apart', () => {
    const index = new MemoryTextIndex({
      a: { t: 'sea of the north chart' },
      b: { t: 'north sea chart old' },
    })

    expect(keys('north sea', {}, index)).to.deep.equal(['b', 'a'])
  })

  it('searches the named fields by their weights', () => {
    const index = new MemoryTextIndex({
      a: { title: 'whale', about: 'sea' },
      b: { title: 'sea', about: 'whale' },
    })

    expect(keys('whale', { fields: ['title'] }, index)).to.deep.equal(['a'])
    expect(keys('whale', { fields: ['title^5', 'about'] }, index)).to.deep.equal(['a', 'b'])
    expect(keys('whale', { fields: ['title', 'about^5'] }, index)).to.deep.equal(['b', 'a'])
  })

  it('uses the weights of the schema', () => {
    for (const [field, first] of [
      ['title', 'a'],
      ['about', 'b'],
    ] as const) {
      const properties = { [field]: { type: 'string', 'x-service-boost': 5 } }
      const schema = parseTableSchema({ type: 'object', properties }, undefined)
      const documents = {
        a: { title: 'whale', about: 'sea' },
        b: { title: 'sea', about: 'whale' },
      }

      expect(keys('whale', {}, new MemoryTextIndex(documents, schema))[0]).to.equal(first)
    }
  })

  it('finds all documents by an empty text, and warns about stop words', () => {
    expect(search({ query: '  ' }).total).to.equal(6)
    const { total, warnings } = search({ query: 'the of ' })
    expect(total).to.equal(0)
    expect(warnings[0]).to.match(/stop words/)
  })

  it('is never refused for its text', () => {
    const part = fc.oneof(
      fc.constantFrom(
        '"',
        '-',
        '+',
        '(',
        ')',
        ':',
        '*',
        '?',
        '~',
        '^',
        '/',
        '\\',
        '[',
        ' TO ',
        ' ',
      ),
      fc.constantFrom('requests', 'AND', 'NOT', 'https://x.y/z?a=b', 'p:1', '🙂', '-5', '“'),
      fc.string({ maxLength: 4 }),
    )
    fc.assert(
      fc.property(fc.array(part, { maxLength: 12 }), (parts) => {
        search({ query: parts.join('') })
      }),
    )
  })

  const refused: readonly (readonly [JsonValue, string])[] = [
    ['x', 'query.simple: must be an object'],
    [{ query: 1 }, 'query.simple.query: must be a string'],
    [{ query: 'x', fields: [] }, 'query.simple.fields: must be an array of at least one field'],
    [{ query: 'x', fields: ['a^99999'] }, 'may have at most the weight 10000'],
    [{ query: 'x', field: 'a' }, 'unknown field "field"'],
  ]
  for (const [simple, problem] of refused) {
    it(`refuses ${JSON.stringify(simple)}`, () => {
      expect(() => parseQuery({ simple }, 'query')).to.throw(problem)
    })
  }
})

describe('readSimpleText', () => {
  const nothing = { words: [], phrases: [], unwanted: [], wanted: '', isOpen: false }
  for (const [text, expected] of [
    ['', nothing],
    ['sea charts', { ...nothing, wanted: 'sea charts', words: ['sea', 'charts'], isOpen: true }],
    ['sea charts ', { ...nothing, wanted: 'sea charts', words: ['sea', 'charts'] }],
    [
      '"sea chart" old',
      { ...nothing, wanted: 'sea chart old', words: ['old'], phrases: ['sea chart'], isOpen: true },
    ],
    [
      'old "sea chart"',
      { ...nothing, wanted: 'old sea chart', words: ['old'], phrases: ['sea chart'] },
    ],
    [
      '5" nails 3"',
      { ...nothing, wanted: '5" nails 3"', words: ['5"', 'nails', '3"'], isOpen: true },
    ],
    ['"sea chart', { ...nothing, wanted: '"sea chart', words: ['"sea', 'chart'], isOpen: true }],
    [
      'sea -old -"new map"',
      { ...nothing, wanted: 'sea', words: ['sea'], unwanted: ['new map', 'old'] },
    ],
    [
      'sea - chart -5',
      { ...nothing, wanted: 'sea - chart -5', words: ['sea', '-', 'chart', '-5'], isOpen: true },
    ],
    ['-draft', { ...nothing, wanted: 'draft', words: ['draft'] }],
  ] as const) {
    it(`of ${JSON.stringify(text)}`, () => {
      expect(readSimpleText(text)).to.deep.equal(expected)
    })
  }
})
