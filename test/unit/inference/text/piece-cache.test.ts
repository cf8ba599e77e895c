import { expect } from 'chai'
import { PieceCache } from '../../../../inference/text/piece-cache.ts'

/** More than two generations. */
const MANY = 20_000

describe('PieceCache', () => {
  it('answers what encoding answers, and holds a bounded number of pieces (PC1)', () => {
    const cache = new PieceCache()
    let encoded = 0
    const idsOf = (piece: string) =>
      cache.idsOf(piece, (text) => {
        encoded += 1
        return [text.length, Number(text)]
      })

    for (let n = 0; n < MANY; n += 1) expect(idsOf(`${n}`)).to.deep.equal([`${n}`.length, n])
    expect(encoded).to.equal(MANY)
    // The last ones are known, the first ones are not.
    idsOf(`${MANY - 1}`)
    expect(encoded).to.equal(MANY)
    idsOf('0')
    expect(encoded).to.equal(MANY + 1)
  })

  it('keeps pieces that are met again and again, whatever comes between', () => {
    const cache = new PieceCache()
    let encoded = 0
    const meet = () => cache.idsOf('the', () => [(encoded += 1)])
    for (let n = 0; n < MANY; n += 1) {
      cache.idsOf(`${n}`, () => [n])
      expect(meet()).to.deep.equal([1])
    }
  })

  it('does not keep long pieces', () => {
    const cache = new PieceCache()
    let encoded = 0
    for (const ids of [[1], [2]]) {
      expect(cache.idsOf('a'.repeat(33), () => [(encoded += 1)])).to.deep.equal(ids)
    }
  })
})
