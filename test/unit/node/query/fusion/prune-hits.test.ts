import { expect } from 'chai'
import { pruneHits } from '../../../../../node/query/fusion/prune-hits.ts'
import { parseExact } from '../../../../../node/document/exact-json.ts'
import { parseQueryRequest } from '../../../../../node/query/request/query-request.ts'
import type { Pruner } from '../../../../../node/query/request/pruner-request.ts'

const NONE: Pruner = {
  isMultiIndex: false,
  minScore: undefined,
  minRatio: undefined,
  deviationsMax: undefined,
  gapMax: undefined,
  autocut: undefined,
}
const left = (scores: readonly number[], pruner: Partial<Pruner>): readonly number[] =>
  pruneHits(
    scores.map((score) => ({ score })),
    { ...NONE, ...pruner },
    () => 1,
  ).map(({ score }) => score)

describe('pruneHits', () => {
  it('keeps all hits without a condition', () => {
    expect(left([5, 1, 0], {})).to.deep.equal([5, 1, 0])
    expect(left([], { minScore: 1, minRatio: 1, deviationsMax: 0, gapMax: 0 })).to.deep.equal([])
  })

  it('drops hits below a least score, and below a share of the best score', () => {
    expect(left([5, 4, 1], { minScore: 4 })).to.deep.equal([5, 4])
    expect(left([8, 4, 3.9], { minRatio: 0.5 })).to.deep.equal([8, 4])
  })

  // The mean of 9, 9, 9, 1 is 7 and their standard deviation 3.46.
  it('drops hits too many deviations below the mean, of three hits or more', () => {
    expect(left([9, 9, 9, 1], { deviationsMax: 1 })).to.deep.equal([9, 9, 9])
    expect(left([9, 9, 9, 1], { deviationsMax: 2 })).to.deep.equal([9, 9, 9, 1])
    expect(left([9, 1], { deviationsMax: 0 })).to.deep.equal([9, 1])
  })

  it('takes a share of a negative best score as twice as far below zero', () => {
    expect(left([-1, -2, -2.1], { minRatio: 0.5 })).to.deep.equal([-1, -2])
    expect(left([-1, -9], { minRatio: 0 })).to.deep.equal([-1, -9])
    expect(left([-1, -9], {})).to.deep.equal([-1, -9])
  })

  it('drops hits of a single index before the other rules look', () => {
    const hits = [
      { score: 9, indexCount: 1 },
      { score: 4, indexCount: 2 },
      { score: 2, indexCount: 3 },
    ]
    const pruner = { ...NONE, isMultiIndex: true, minRatio: 0.5 }

    expect(
      pruneHits(hits, pruner, ({ indexCount }) => indexCount).map(({ score }) => score),
    ).to.deep.equal([4, 2])
  })

  it('cuts the hits at the first wide gap', () => {
    expect(left([10, 9, 4, 3, 0], { gapMax: 0.3 })).to.deep.equal([10, 9])
    expect(left([10, 9, 4, 3, 0], { gapMax: 0.5 })).to.deep.equal([10, 9, 4, 3, 0])
    expect(left([3, 3, 3], { gapMax: 0 })).to.deep.equal([3, 3, 3])
  })

  it('measures gaps between the hits that the other rules left', () => {
    expect(left([10, 9, 8, 0], { minScore: 1, gapMax: 0.6 })).to.deep.equal([10, 9, 8])
    expect(left([10, 9, 8, 0], { gapMax: 0.6 })).to.deep.equal([10, 9, 8])
    expect(left([10, 9.9, 8, 0], { minScore: 1, gapMax: 0.6 })).to.deep.equal([10, 9.9])
  })
})

describe('a jump of the scores', () => {
  it('ends the hits that the other rules left', () => {
    expect(left([9, 8, 3, 2.9, 2.8, 2.7], { autocut: 1 })).to.deep.equal([9, 8])
    expect(left([9, 8, 3, 2.9, 2.8], { autocut: 1, minScore: 2.9 })).to.deep.equal([9, 8, 3, 2.9])
  })
})

const parse = (text: string) => parseQueryRequest(parseExact(text)).pruner

describe('the pruner of a query', () => {
  it('has all of its members read', () => {
    const text =
      '{"pruner":{"min_absolute_score":1,"min_score_ratio":0.5,"std_dev_threshold":2,' +
      '"max_score_gap_percent":30,"require_multi_index":true,"autocut":2}}'

    expect(parse(text)).to.deep.equal({
      isMultiIndex: true,
      minScore: 1,
      minRatio: 0.5,
      deviationsMax: 2,
      gapMax: 0.3,
      autocut: 2,
    })
    expect(parse('{}')).to.equal(undefined)
  })

  const refused: Readonly<Record<string, string>> = {
    '{"pruner":[]}': 'pruner: must be an object',
    '{"pruner":{"min":1}}': 'pruner: unknown field "min"',
    '{"pruner":{"min_absolute_score":-1}}':
      'pruner.min_absolute_score: must be a number of at least 0',
    '{"pruner":{"min_score_ratio":2}}':
      'pruner.min_score_ratio: must be a number of at least 0 and at most 1',
    '{"pruner":{"min_score_ratio":"1"}}': 'pruner.min_score_ratio: must be a number',
    '{"pruner":{"require_multi_index":1}}': 'pruner.require_multi_index: must be true or false',
    '{"pruner":{},"order_by":[{"field":"a"}]}': 'leave order_by out',
    '{"pruner":{},"count":true}': 'leave count out',
    '{"pruner":{"autocut":0}}': 'pruner.autocut: must be an integer of at least 1 and at most 10',
  }
  for (const [text, message] of Object.entries(refused)) {
    it(`is refused as ${text}`, () => {
      expect(() => parse(text)).to.throw(message)
    })
  }
})
