import { expect } from 'chai'
import { IndexLag } from '../../../../../node/shard/following/index-lag.ts'

const MIB = 2 ** 20

describe('the lag of text indexes', () => {
  it('leaves room until more unindexed bytes than the bound are written', () => {
    const lag = new IndexLag()
    for (let sequence = 1; sequence <= 4; sequence += 1) lag.wrote(MIB, sequence)

    expect(lag.neededFor(4 * MIB, 0)).to.equal(undefined)
    expect(lag.neededFor(3 * MIB, 0)).to.equal(1)
    expect(lag.neededFor(2 * MIB, 0)).to.equal(2)
    expect(lag.neededFor(2 * MIB, 2)).to.equal(undefined)
  })

  it('has room again when entries are indexed, and continues from there', () => {
    const lag = new IndexLag()
    lag.wrote(3 * MIB, 7)
    expect(lag.neededFor(2 * MIB, 6)).to.equal(7)
    expect(lag.neededFor(2 * MIB, 7)).to.equal(undefined)

    lag.wrote(3 * MIB, 9)

    expect(lag.neededFor(2 * MIB, 8)).to.equal(9)
    expect(lag.neededFor(2 * MIB, Infinity)).to.equal(undefined)
  })

  it('estimates the bytes of small writes within an eighth of the bound', () => {
    const lag = new IndexLag()
    for (let sequence = 1; sequence <= 10_000; sequence += 1) lag.wrote(1024, sequence)

    const needed = lag.neededFor(4 * MIB, 0) ?? 0

    const written = 10_000 * 1024
    expect(written - needed * 1024).to.be.within(3.5 * MIB, 4 * MIB)
  })
})
