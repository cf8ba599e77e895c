import { expect } from 'chai'
import { isServiceError } from '../../../../lib/errors.ts'
import { runAtOnce } from '../../../../lib/sliced.ts'
import {
  QUERIES_PER_REQUEST_MAX,
  QUERY_BYTES_MAX,
  splitQueries,
} from '../../../../node/api/query-lines.ts'

function split(body: string): readonly string[] {
  return runAtOnce(splitQueries(Buffer.from(body))).map((query) => query.toString())
}

function refusalOf(body: string): string {
  try {
    return split(body).join('|')
  } catch (error) {
    return isServiceError(error) ? error.message : String(error)
  }
}

describe('the queries of a body', () => {
  const cases: Readonly<Record<string, { body: string; queries: readonly string[] }>> = {
    'one line': { body: '{}', queries: ['{}'] },
    'lines that are queries': { body: '{}\n{"a":1}\n', queries: ['{}', '{"a":1}'] },
    'lines with blank ones between': { body: '\n{}\r\n  \n{}', queries: ['{}\r', '{}'] },
    'one query over lines': { body: '{\n"a":1\n}', queries: ['{\n"a":1\n}'] },
    'many blank lines': { body: `${'\n'.repeat(600_000)}{}`, queries: ['{}'] },
  }
  for (const [name, { body, queries }] of Object.entries(cases)) {
    it(`are cut out of ${name}`, () => {
      expect(split(body).map((query) => query.replace(/^\n+/, ''))).to.deep.equal(queries)
    })
  }

  it('must not be missing', () => {
    expect(refusalOf(' \n\n')).to.match(/^the body is empty/)
  })

  it('must be a hundred at most', () => {
    const most = '{}\n'.repeat(QUERIES_PER_REQUEST_MAX)

    expect(split(most)).to.have.length(QUERIES_PER_REQUEST_MAX)
    expect(refusalOf(`${most}{}`)).to.match(/more than 100 queries/)
  })

  it('must be short enough to be parsed in one step', () => {
    const long = `{"a":"${'x'.repeat(QUERY_BYTES_MAX)}"}`

    expect(refusalOf(long)).to.match(/at most 4194304 bytes/)
    expect(refusalOf(`{}\n${long}`)).to.match(/at most 4194304 bytes/)
    expect(refusalOf(`${long}\n{}`)).to.match(/at most 4194304 bytes/)
  })
})
