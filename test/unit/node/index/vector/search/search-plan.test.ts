import { expect } from 'chai'
import {
  firstCount,
  neededCount,
  nextCount,
  type SearchCase,
} from '../../../../../../node/index/vector/search/search-plan.ts'

const CASE: SearchCase = {
  rowCount: 100_000,
  passing: 1,
  rowsPerDocument: 1,
  needed: 16,
  width: 128,
  isResident: false,
  selected: 1,
  lists: 'none',
}

describe('the plan of a search in a segment', () => {
  it('asks for its width without a filter, and for what is wanted if that is more', () => {
    expect(firstCount(CASE)).to.equal(128)
    expect(firstCount({ ...CASE, needed: 500 })).to.equal(500)
    expect(firstCount({ ...CASE, needed: 100, rowsPerDocument: 3 })).to.equal(300)
  })

  it('asks for more rows the fewer pass, with some to spare', () => {
    expect(firstCount({ ...CASE, passing: 0.1, needed: 45 })).to.equal(540)
  })

  it('compares with those that pass where that costs less', () => {
    expect(firstCount({ ...CASE, passing: 0.001, needed: 45 })).to.equal(undefined)
    expect(firstCount({ ...CASE, rowCount: 400 })).to.equal(128)
    expect(firstCount({ ...CASE, rowCount: 300 })).to.equal(undefined)
    expect(firstCount({ ...CASE, rowCount: 400, isResident: true })).to.equal(undefined)
  })

  it('leaves filtered searches to lists where a graph would look far, and where they are in memory', () => {
    const half: SearchCase = { ...CASE, passing: 0.5, selected: 0.5, needed: 45 }

    expect(firstCount({ ...half, lists: 'read' })).to.equal(128)
    expect(firstCount({ ...half, lists: 'resident' })).to.equal(undefined)
    expect(firstCount({ ...half, passing: 0.1, lists: 'read' })).to.equal(undefined)
    expect(firstCount({ ...half, passing: 0.9, selected: 0.9, lists: 'resident' })).to.equal(128)
    expect(firstCount({ ...CASE, passing: 0.7, lists: 'resident' })).to.equal(128)
  })

  it('asks for twice as many after too few, within bounds', () => {
    expect(nextCount(128, CASE)).to.equal(256)
    expect(nextCount(4000, CASE)).to.equal(undefined)
    expect(firstCount({ ...CASE, needed: 5000 })).to.equal(undefined)
  })

  it('needs more than the hits where a filter lets some pass', () => {
    expect(neededCount(16, { limit: 10, passing: 1 })).to.equal(16)
    expect(neededCount(16, { limit: 10, passing: 0.5 })).to.equal(45)
    expect(neededCount(512, { limit: 10, passing: 0.5 })).to.equal(512)
  })
})
