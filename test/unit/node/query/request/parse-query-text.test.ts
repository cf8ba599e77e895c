import { expect } from 'chai'
import { parseExact } from '../../../../../node/document/exact-json.ts'
import { parseQueryText } from '../../../../../node/query/request/parse-query-text.ts'
import { errorOf } from '../../../../support/error-of.ts'

const parse = (text: string) => parseQueryText(Buffer.from(text))
/** More digits than a double has. */
const LONG = '12345678901234567890.5'
const VECTOR = `[0.${LONG.slice(0, 20)},-1e-7,2]`

describe('the text of a query', () => {
  it('has doubles for the numbers of vectors', () => {
    const value = parse(`{"embeddings":{"a":${VECTOR}, "b":{"indices":[1],"values":[${LONG}]}}}`)

    expect(value).to.deep.equal({
      embeddings: {
        a: [Number(`0.${LONG.slice(0, 20)}`), -1e-7, 2],
        b: { indices: [1], values: [Number(LONG)] },
      },
    })
  })

  it('is the same without digits to lose', () => {
    const text = '{"embeddings":{"a":[1,2.5]},"limit":3,"filter_query":{"terms":[1,2]}}'

    expect(parse(text)).to.deep.equal(JSON.parse(text))
  })

  const elsewhere: Readonly<Record<string, string>> = {
    'a number beside vectors': `{"embeddings":{"a":${VECTOR}},"distance_under":${LONG}}`,
    'a list beside vectors': `{"embeddings":{"a":${VECTOR}},"filter_query":{"any":[{"of":[${LONG}]}]}}`,
    'a list within lists': `{"embeddings":{"a":${VECTOR}},"search_after":[[[${LONG}]]]}`,
    'a list without vectors': `{"filter_query":{"terms":[1,${LONG}]}}`,
    'a list alone': `[1,${LONG}]`,
    'a number alone': LONG,
  }
  for (const [name, text] of Object.entries(elsewhere)) {
    it(`keeps the digits of ${name}`, () => {
      expect(JSON.stringify(parse(text))).to.equal(JSON.stringify(parseExact(text)))
    })
  }

  it('may have lists of numbers in its strings', () => {
    const text = `{"embeddings":{"a":${VECTOR}},"full_text_search":{"query":"[${LONG}] \\"["}}`

    expect(parse(text)).to.deep.equal(JSON.parse(text))
  })

  it('may be as deep as it is long', () => {
    const depth = 100_000
    const deep = '[{"a":'.repeat(depth) + '1' + '}]'.repeat(depth)

    expect(parse(`{"embeddings":{"a":${VECTOR}},"query":${deep}}`)).to.have.property('query')
  })

  it('is refused if it is not JSON', async () => {
    const error = await errorOf(() => parse(`{"embeddings":{"a":${VECTOR}`))

    expect(error).to.include({ code: 'INVALID_ARGUMENT' })
  })
})
