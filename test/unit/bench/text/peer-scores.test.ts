import { expect } from 'chai'
import { differenceOf } from '../../../../bench/text/peer-scores.ts'

const FACTOR = 2.2

describe('the scores beside those of Lucene', () => {
  it('are the same but for the factor and the average length', () => {
    const found = [hit('a', 3 * FACTOR), hit('b', 2.01 * FACTOR)]

    expect(differenceOf(found, [hit('a', 3), hit('b', 2)])).to.equal(undefined)
  })

  it('may be those of other documents of equal scores', () => {
    const found = [hit('a', 3 * FACTOR), hit('c', 2 * FACTOR)]

    expect(differenceOf(found, [hit('a', 3), hit('b', 2)])).to.equal(undefined)
  })

  it('differ by the number of hits', () => {
    expect(differenceOf([hit('a', 3 * FACTOR)], [])).to.equal('1 hits, 0 of Lucene')
  })

  it('differ at a rank', () => {
    const found = [hit('a', 2 * FACTOR)]

    expect(differenceOf(found, [hit('b', 3)])).to.equal("rank 0 scores 2, Lucene's 3")
  })

  it('differ in a document', () => {
    const found = [hit('b', 3 * FACTOR), hit('a', 2 * FACTOR)]

    expect(differenceOf(found, [hit('a', 3), hit('b', 2)])).to.equal("b scores 3, Lucene's 2")
  })
})

function hit(id: string, score: number) {
  return { id, score }
}
