import { expect } from 'chai'
import { parseExact } from '../../../../../node/document/exact-json.ts'
import { parseCanonicalQuery } from '../../../../../node/query/language/parse-canonical-query.ts'

const parse = (text: string) => parseCanonicalQuery(parseExact(text), 'query')
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
const A = '{"term":{"field":"f","value":"a"}}'

const fieldOf = (field: string) => parse(`{"exists":{"field":"${field}"}}`)

describe('parseCanonicalQuery', () => {
  it('reads words, terms and the presence of a field', () => {
    expect(parse('{"match":{"field":"f","text":"x y"}}')).to.deep.include({
      kind: 'match',
      field: 'f',
      text: 'x y',
      operator: 'or',
    })
    expect(parse(A)).to.deep.equal(term('a'))
    expect(parse('{"term":{"field":"f","value":12}}')).to.deep.equal(term('12'))
    expect(parse('{"terms":{"field":"f","values":["a",true]}}')).to.deep.equal(
      boolean({ should: [term('a'), term('true')], minShould: 1 }),
    )
    expect(parse('{"exists":{"field":"f"}}')).to.deep.equal({
      kind: 'exists',
      field: 'f',
      boost: 1,
    })
  })

  it('scores by must alone, from one query or a list', () => {
    expect(parse(`{"bool":{"must":${A},"filter":[${A},${A}],"must_not":[${A}]}}`)).to.deep.equal(
      boolean({ must: [term('a')], filter: [term('a'), term('a')], mustNot: [term('a')] }),
    )
  })

  it('reads JSON pointers as paths', () => {
    expect(fieldOf('a.b')).to.include({ field: 'a.b' })
    expect(fieldOf('/a/b')).to.include({ field: 'a.b' })
    expect(fieldOf('/a~1b/~0c')).to.include({ field: 'a/b.~c' })
  })

  const refused: Readonly<Record<string, string>> = {
    '[]': 'query: must be an object, not array',
    '{}': 'query: must have exactly one of bool, match, term, terms, exists',
    '{"query":"sea"}': 'query: must have exactly one of',
    '{"match":{"field":"f","text":"x"},"term":{}}': 'query: must have exactly one of',
    '{"match":"x"}': 'query.match: must be an object with field and text',
    '{"match":{"field":"f"}}': 'query.match.text: must be a string',
    '{"match":{"text":"f"}}': 'query.match.field: must be a string',
    '{"match":{"field":"f","text":"x","operator":"and"}}': 'query.match: unknown field "operator"',
    '{"term":{"field":"f","value":[]}}':
      'query.term.value: must be a string, a number or a boolean',
    '{"terms":{"field":"f","values":[]}}': 'query.terms.values: must be an array of at least one',
    '{"exists":{"field":"a..b"}}': 'query.exists.field: empty segment',
    '{"exists":{"field":"/"}}': 'query.exists.field: empty segment',
    '{"bool":{}}': 'query.bool: must have must, filter or must_not',
    '{"bool":{"should":[]}}': 'query.bool: unknown field "should"',
    '{"bool":{"must":[{"bool":{"must":4}}]}}': 'query.bool.must[0].bool.must: must be an object',
    [`${'{"bool":{"must":'.repeat(30)}${A}${'}}'.repeat(30)}`]: 'nested deeper than 20 levels',
    [`{"bool":{"must":[${Array(1100).fill(A).join()}]}}`]: 'a query may have at most 1024 clauses',
    [`{"bool":{"must":[${Array(3)
      .fill(`{"terms":{"field":"f","values":[${Array(500).fill('1').join()}]}}`)
      .join()}]}}`]: 'a query may have at most 1024 clauses',
  }
  for (const [text, message] of Object.entries(refused)) {
    it(`refuses ${text.slice(0, 60)}`, () => {
      expect(() => parse(text)).to.throw(message)
    })
  }
})
