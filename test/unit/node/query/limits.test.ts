import { expect } from 'chai'
import { isServiceError } from '../../../../lib/errors.ts'
import { runAtOnce } from '../../../../lib/sliced.ts'
import type { JsonValue } from '../../../../node/document/exact-json.ts'
import { FieldMapping } from '../../../../node/index/text/mapping/field-mapping.ts'
import { resolveQuery } from '../../../../node/index/text/mapping/resolve-query.ts'
import { parseCanonicalQuery } from '../../../../node/query/language/parse-canonical-query.ts'
import { parseQuery } from '../../../../node/query/language/parse-query.ts'
import { QUERY_TERMS_MAX, QUERY_TEXT_TOTAL_MAX } from '../../../../node/query/query-limits.ts'
import { parseQueryRequest } from '../../../../node/query/request/query-request.ts'

function refusalOf(act: () => unknown): string {
  try {
    act()
  } catch (error) {
    if (isServiceError(error) && error.code === 'INVALID_ARGUMENT') return error.message
    throw error
  }
  throw new Error('nothing was refused')
}

const LONG = 'a'.repeat(9000)
const many = (count: number, clause: JsonValue) => Array.from({ length: count }, () => clause)
const TOO_MUCH = Math.ceil(QUERY_TEXT_TOTAL_MAX / LONG.length)

describe('limits of a query', () => {
  const clauses: Record<string, JsonValue> = {
    match: { match: LONG, field: 'f' },
    match_phrase: { match_phrase: LONG, field: 'f' },
    term: { term: LONG, field: 'f' },
    prefix: { prefix: LONG, field: 'f' },
    query: { query: `f:${LONG}` },
    multi_match: { multi_match: { query: LONG, fields: ['f'], type: 'bool_prefix' } },
    terms: { terms: [[LONG.slice(0, 4500), LONG.slice(0, 4500)]], field: 'f' },
  }
  for (const [name, clause] of Object.entries(clauses)) {
    it(`count the text of ${name} over all clauses`, () => {
      const message = refusalOf(() => parseQuery({ disjuncts: many(TOO_MUCH, clause) }, 'q'))

      expect(message).to.match(/^q\.disjuncts\[\d+\].*: all texts, terms and patterns .* 200000/)
    })
  }

  it('count the text of the canonical form', () => {
    const must = many(TOO_MUCH, { match: { field: 'f', text: LONG } })

    const message = refusalOf(() => parseCanonicalQuery({ bool: { must } }, 'query'))

    expect(message).to.match(/^query\.bool\.must\[\d+\]: all texts, terms and patterns/)
  })

  it('count the text of all background filters', () => {
    const background = { disjuncts: many(TOO_MUCH - 1, { match: LONG, field: 'f' }) }
    const one = { type: 'significant_terms', field: 'k', background_filter: background }
    const body = { aggregations: { a: one, b: one } }

    expect(refusalOf(() => parseQueryRequest(body))).to.match(/^aggregations\.b.*all texts/)
  })

  it('count the repetitions in regular expressions', () => {
    const regexp = { regexp: '(ab?){1,900}', field: 'f' }

    const inClauses = refusalOf(() => parseQuery({ disjuncts: many(30, regexp) }, 'q'))
    const inString = refusalOf(() => parseQuery({ query: '/(ab?){1,900}/ '.repeat(30) }, 'q'))

    expect(inClauses).to.match(/^q\.disjuncts\[\d+\]\.regexp: all regular expressions/)
    expect(inString).to.include('all regular expressions of a query together')
  })

  it('count the words of all texts, and name the field', () => {
    const mapping = new FieldMapping(undefined)
    mapping.mapDocument(Buffer.from('k'), { f: 'some words' }, 0)
    const text = Array.from({ length: 2000 }, (_, i) => `w${i % 7}`).join(' ')
    const query = parseQuery({ disjuncts: many(5, { match: text, field: 'f' }) }, 'q')

    const message = refusalOf(() => runAtOnce(resolveQuery(query, mapping)))

    expect(message).to.include(`more than ${QUERY_TERMS_MAX} words together`)
    expect(message).to.include('field "f"')
  })

  it('let the parser pause while it splits many texts into words', () => {
    const mapping = new FieldMapping(undefined)
    mapping.mapDocument(Buffer.from('k'), { f: 'some words' }, 0)
    const query = parseQuery({ disjuncts: many(1000, { match: 'a b c d', field: 'f' }) }, 'q')

    let pauses = 0
    for (const _ of resolveQuery(query, mapping)) pauses += 1

    expect(pauses).to.be.within(5, 100)
  })
})
