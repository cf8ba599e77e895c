import { expect } from 'chai'
import * as fc from 'fast-check'
import { must } from '../../../../../../lib/assert.ts'
import { queryAnalyzerOf } from '../../../../../../node/index/text/analysis/analyzers.ts'
import { wordsOfPattern } from '../../../../../../node/index/text/mapping/pattern-words.ts'
import { parseQuery } from '../../../../../../node/query/language/parse-query.ts'
import { parseTableSchema } from '../../../../../../node/schema/table-schema.ts'
import { EVERYTHING, MemoryTextIndex } from '../../../../../support/worlds/memory-text-index.ts'
import type { JsonObject } from '../../../../../../node/document/exact-json.ts'

const INDEX = new MemoryTextIndex({
  a: { name: 'python3-requests' },
  b: { name: 'python3-requests-oauthlib' },
  c: { name: 'requests-python3' },
  d: { name: 'python3 for requesters' },
  e: { name: 'Python 3.11, and more' },
  f: { name: 'py.test-cov' },
  g: { name: 'www.nginx.org/docs' },
  h: { name: 'python3-apt' },
})
const ENGLISH = new MemoryTextIndex(
  { a: { name: 'running-shoes' }, b: { name: 'the running of shops' } },
  parseTableSchema({ language: 'english' }, undefined),
)

function keys(query: JsonObject, index = INDEX): readonly string[] {
  const conditions = { ...EVERYTHING.conditions, query: parseQuery(query, 'query') }
  const { hits } = index.search({ ...EVERYTHING, conditions })
  return hits.map(({ key }) => Buffer.from(key).toString()).toSorted()
}

describe('a pattern whose text the analyzer splits', () => {
  for (const [typed, found] of [
    ['name:python3-req*', 'ab'],
    ['python3-req*', 'ab'],
    ['name:PYTHON3-Req*', 'ab'],
    ['name:python3-requests-oa*', 'b'],
    ['name:py*-req*', 'ab'],
    ['name:p?thon3-req?ests', 'ab'],
    ['name:*3-apt', 'h'],
    ['name:-req*', 'abcd'],
    ['name:python3-*', 'abcdh'],
    ['name:python3-*-oauth*', 'b'],
    ['name:py.test-c*', 'f'],
    ['name:www.nginx.org/do*', 'g'],
    ['name:python\\ 3.*', 'e'],
    // One word for the analyzer: what a term of the index must look like.
    ['name:req*', 'abcd'],
    ['name:3.*', 'e'],
    ['name:-*', ''],
    ['name.keyword:python3-req*', 'ab'],
    ['name.keyword:python3-*-oauth*', 'b'],
  ] as const) {
    it(`finds ${JSON.stringify(found)} by ${typed}`, () => {
      expect(keys({ query: typed })).to.deep.equal(found.split(''))
    })
  }

  it('finds the same in JSON', () => {
    expect(keys({ prefix: 'python3-req', field: 'name' })).to.deep.equal(['a', 'b'])
    expect(keys({ prefix: 'python3-re*', field: 'name' })).to.deep.equal([])
    expect(keys({ wildcard: 'py*-req*', field: 'name' })).to.deep.equal(['a', 'b'])
  })

  it('stems the whole words of a stemmed field', () => {
    expect(keys({ query: 'name:running-sho*' }, ENGLISH)).to.deep.equal(['a'])
    expect(keys({ query: 'name:the-running-sho*' }, ENGLISH)).to.deep.equal(['a'])
  })

  it('refuses a word with more terms than can be looked for in a row', () => {
    const words = Array.from({ length: 5000 }, (_, at) => `w${at}`)
    const many = new MemoryTextIndex({ a: { name: `c-w1 ${words.join(' ')}` } })

    expect(keys({ query: 'name:c-w1*' }, many)).to.deep.equal(['a'])
    expect(() => keys({ query: 'name:c-w*' }, many)).to.throw(
      'name:w* matches more than 4096 terms of field name; make it more specific',
    )
  })
})

describe('wordsOfPattern', () => {
  it('finds every text of words that the pattern was cut from', () => {
    const analyzer = must(queryAnalyzerOf('standard'), 'the standard analyzer')
    // No vowels, because the index leaves out stop words.
    const word = fc.stringMatching(/^[bcdfghjklmnpqrstvwxz0-9]{2,6}$/)
    const words = fc.array(word, { minLength: 2, maxLength: 4 })
    fc.assert(
      fc.property(words, fc.constantFrom('-', '/', '+', ' '), (parts, sign) => {
        const name = parts.join(sign)
        const index = new MemoryTextIndex({ a: { name } })
        expect(keys({ prefix: name.slice(0, -1), field: 'name' }, index)).to.deep.equal(['a'])
      }),
      { numRuns: 100 },
    )
    expect(wordsOfPattern('python3', analyzer)).to.deep.equal([])
  })
})
