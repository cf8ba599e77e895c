import { PassThrough } from 'node:stream'
import { expect } from 'chai'
import { queryView } from '../../../../cli/render/query-view.ts'

const COLUMNS = 100
const screen = (isTty: boolean) => ({
  stream: new PassThrough(),
  isTty,
  color: false,
  columns: COLUMNS,
})
const answer = (...hits: readonly object[]) => ({
  responses: [{ took: 1, hits: { total: hits.length, hits } }],
})
const hit = (id: string, score: number, scores?: object) => ({
  _id: id,
  _score: score,
  ...(scores === undefined ? {} : { _index_scores: scores }),
  _source: { text: 'x'.repeat(2 * COLUMNS) },
})
/** The digits behind the point of each number that begins a line. */
const digitsIn = (view: string) =>
  [...view.matchAll(/^ +\d+\.(\d+) {2}/gm)].map(([, digits = '']) => digits.length)

/** The columns of the longest line of an answer with a long document. */
function lengthOf(isTty: boolean, isProjected: boolean): number {
  const view = queryView(answer(hit('a', 1)), screen(isTty), { isProjected })
  return Math.max(...view.split('\n').map((line) => line.length))
}

describe('the view of an answer', () => {
  const LISTS: Readonly<Record<string, { hits: readonly object[]; digits: number }>> = {
    'of words': { hits: [hit('a', 12.5), hit('b', 0.04)], digits: 2 },
    'of weak words': { hits: [hit('a', 0.05), hit('b', 0.0312)], digits: 4 },
    'merged, with hits that words alone have found': {
      hits: [
        hit('a', 0.0325, { full_text: 3.2, meaning: 0.25 }),
        hit('b', 0.0163, { full_text: 2.1 }),
        hit('c', 0.5, { meaning: 0.125 }),
      ],
      digits: 4,
    },
    'that is sorted by a field': { hits: [hit('a', 0), hit('b', 0)], digits: 2 },
  }
  for (const [name, { hits, digits }] of Object.entries(LISTS)) {
    it(`shows all scores of a list ${name} with as many digits`, () => {
      const shown = digitsIn(queryView(answer(...hits), screen(true)))

      expect(shown).to.deep.equal(hits.map(() => digits))
    })
  }

  it('cuts whole documents to a line, in a pipe too, and projections on a terminal alone', () => {
    expect([lengthOf(true, false), lengthOf(false, false)]).to.deep.equal([COLUMNS, COLUMNS])
    expect(lengthOf(true, true)).to.equal(COLUMNS)
    expect(lengthOf(false, true)).to.be.above(2 * COLUMNS)
  })
})
