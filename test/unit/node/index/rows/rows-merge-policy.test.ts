import { expect } from 'chai'
import {
  chooseMerge,
  chooseListed,
  type MergePolicy,
  type RowsSize,
} from '../../../../../node/index/rows/rows-merge-policy.ts'

const POLICY: MergePolicy = {
  graphRowsMin: 1000,
  settledGraphRowsMin: 800,
  tierCount: 4,
  listedRowsMin: 2000,
  rowsMax: 100_000,
  deletedRatioMax: 0.2,
  extendedRatio: 1 / 16,
  settledRatio: 1 / 64,
}

function segment(id: number, rowCount: number, more: Partial<RowsSize> = {}): RowsSize {
  return {
    id,
    rowCount,
    docCount: rowCount,
    deletedCount: 0,
    hasGraph: false,
    hasLists: false,
    ...more,
  }
}

describe('the choice of a merge of segments with vectors', () => {
  it('is none for few rows', () => {
    expect(chooseMerge([segment(1, 300), segment(2, 400)], POLICY, 'settled')).to.equal(undefined)
    expect(chooseMerge([], POLICY, 'settled')).to.equal(undefined)
  })

  it('makes a graph of rows that are worth it', () => {
    const chosen = chooseMerge([segment(1, 600), segment(2, 400)], POLICY, 'writing')

    expect(chosen).to.deep.equal({ ids: [2, 1], base: undefined, makes: 'graph' })
  })

  it('makes a graph of fewer rows when nothing is written', () => {
    const sizes = [segment(1, 500), segment(2, 400)]

    expect(chooseMerge(sizes, POLICY, 'writing')).to.equal(undefined)
    expect(chooseMerge(sizes, POLICY, 'settled')).to.deep.include({ makes: 'graph' })
  })

  it('gathers many small segments without a graph', () => {
    const sizes = [1, 2, 3, 4].map((id) => segment(id, 10))

    expect(chooseMerge(sizes, POLICY, 'writing')).to.deep.include({ makes: 'rows' })
  })

  it('extends the largest graph by many rows, or by fewer when nothing is written', () => {
    const sizes = [segment(1, 16_000, { hasGraph: true }), segment(2, 500)]

    expect(chooseMerge(sizes, POLICY, 'writing')).to.equal(undefined)
    expect(chooseMerge(sizes, POLICY, 'settled')).to.deep.equal({
      ids: [1, 2],
      base: 1,
      makes: 'graph',
    })
    expect(chooseMerge([...sizes, segment(3, 500)], POLICY, 'writing')).to.deep.include({ base: 1 })
  })

  it('lets no graph grow beyond the bound', () => {
    const sizes = [segment(1, 99_000, { hasGraph: true }), segment(2, 2000, { hasLists: true })]

    expect(chooseMerge(sizes, POLICY, 'settled')).to.deep.equal({
      ids: [2],
      base: 2,
      makes: 'graph',
    })
    const large = [segment(1, 99_000, { hasGraph: true }), segment(2, 2000, { hasGraph: true })]
    expect(chooseMerge(large, POLICY, 'settled')).to.equal(undefined)
  })

  it('writes a segment again without its dead documents', () => {
    const sizes = [segment(1, 5000, { hasGraph: true, deletedCount: 1000 })]

    expect(chooseMerge(sizes, POLICY, 'writing')).to.deep.equal({
      ids: [1],
      base: undefined,
      makes: 'graph',
    })
  })

  it('gathers segments of one size into tiers while a graph is made, with lists when they are large', () => {
    const small = [1, 2, 3, 4].map((id) => segment(id, 300))
    const listed = { hasLists: true }
    const large = [5, 6, 7].map((id) => segment(id, 5000, listed))
    const graph = segment(8, 50_000, { hasGraph: true })

    const first = chooseListed([...small, ...large, graph], POLICY)
    const second = chooseListed([segment(9, 600), ...large, segment(10, 4500, listed)], POLICY)
    const none = chooseListed([segment(9, 600), ...large, graph], POLICY)

    expect(first).to.deep.equal({ ids: [1, 2, 3, 4], base: undefined, makes: 'rows' })
    expect(second).to.deep.equal({ ids: [9, 10, 5, 6, 7], base: undefined, makes: 'lists' })
    expect(none).to.equal(undefined)
  })

  it('keeps the lists of the largest segment that gets into a graph, unless some of it are dead', () => {
    const listed = segment(1, 3000, { hasLists: true })
    const dead = segment(1, 3000, { hasLists: true, deletedCount: 1 })

    const kept = chooseMerge([segment(2, 300), listed], POLICY, 'writing')
    const anew = chooseMerge([segment(2, 300), dead], POLICY, 'writing')

    expect(kept).to.deep.equal({ ids: [1, 2], base: 1, makes: 'graph' })
    expect(anew).to.deep.equal({ ids: [2, 1], base: undefined, makes: 'graph' })
  })

  it('sorts rows into lists before they get into a graph', () => {
    const graph = segment(1, 16_000, { hasGraph: true, hasLists: true })
    const unlisted = [segment(2, 1500), segment(3, 700)]

    const first = chooseMerge([graph, ...unlisted], POLICY, 'writing')
    const second = chooseMerge([graph, segment(4, 2200, { hasLists: true })], POLICY, 'writing')

    expect(first).to.deep.equal({ ids: [3, 2], base: undefined, makes: 'lists' })
    expect(second).to.deep.equal({ ids: [1, 4], base: 1, makes: 'graph' })
  })

  it('makes graphs while another merge makes lists', () => {
    const graph = segment(1, 16_000, { hasGraph: true, hasLists: true })
    const others = [segment(2, 4500, { hasLists: true }), segment(3, 1500), segment(4, 700)]

    const chosen = chooseMerge([graph, ...others], POLICY, 'listing')

    expect(chosen).to.deep.include({ base: 1, makes: 'graph' })
  })

  it('writes each row some times, and leaves few segments, while no graph is made of any', () => {
    const writes = 190
    let segments: readonly RowsSize[] = []
    let written = 0
    for (let id = 1; id <= writes; id += 1) {
      segments = [...segments, segment(id, 512)]
      for (let tier = chooseListed(segments, POLICY); tier; tier = chooseListed(segments, POLICY)) {
        const { ids, makes } = tier
        const rows = segments.filter((one) => ids.includes(one.id))
        const rowCount = rows.reduce((sum, one) => sum + one.rowCount, 0)
        segments = [
          ...segments.filter((one) => !rows.includes(one)),
          segment(id + writes, rowCount, { hasLists: makes === 'lists' }),
        ]
        written += rowCount
      }
      expect(segments.length).to.be.at.most(3 * 5)
    }

    expect(written / (writes * 512)).to.be.below(6)
  })
})
