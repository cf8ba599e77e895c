import { expect } from 'chai'
import { runAtOnce } from '../../../../../../lib/sliced.ts'
import { TermCounts } from '../../../../../../node/index/text/aggregation/term-counts.ts'
import { parseAggregations } from '../../../../../../node/query/request/aggregation-request.ts'
import { Poll } from '../../../../../../node/index/text/poll.ts'
import { walk } from '../../../../../support/slices/sliced-steps.ts'
import { EVERYTHING, MemoryTextIndex } from '../../../../../support/worlds/memory-text-index.ts'

const TERMS_MAX = 1000

/** Terms that each come once, and one in a hundred that comes with every term. */
function countMany(terms: number): { readonly counts: TermCounts; readonly largest: number } {
  const counts = new TermCounts(TERMS_MAX)
  let largest = 0
  for (let term = 0; term < terms; term += 1) {
    counts.add(`rare${term}`, 1)
    counts.add(`frequent${term % 10}`, 1)
    largest = Math.max(largest, counts.byKey.size)
    if (counts.isFull) runAtOnce(counts.cut(new Poll()))
  }
  return { counts, largest }
}

describe('counts of terms', () => {
  it('are exact for as many terms as may be', () => {
    const { counts } = countMany(TERMS_MAX - 10)

    expect(counts.isCut).to.equal(false)
    expect(counts.byKey.size).to.equal(TERMS_MAX)
    expect(counts.byKey.get('frequent3')).to.equal(99)
  })

  it('give up rare terms beyond that, say so, and keep the frequent ones whole', () => {
    const { counts, largest } = countMany(50_000)

    expect(counts.isCut).to.equal(true)
    expect(largest).to.be.at.most(TERMS_MAX + 2)
    for (let term = 0; term < 10; term += 1) {
      expect(counts.byKey.get(`frequent${term}`)).to.equal(5000)
    }
  })

  it('are cut in steps, also where all terms come alike', () => {
    const counts = new TermCounts(TERMS_MAX)
    for (let term = 0; term <= TERMS_MAX; term += 1) counts.add(term, 1_000_000)

    const { pauses } = walk(counts.cut(new Poll(64)))

    expect(counts.byKey.size).to.equal(TERMS_MAX / 2)
    expect(pauses).to.be.above(20)
  })
})

describe('a facet over thousands of values', () => {
  it('is the same in memory and on disk, for few and for many buckets', () => {
    const documents = Object.fromEntries(
      Array.from({ length: 3000 }, (_, n) => {
        const sku = [`s${(n * 7919) % 2500}`, `t${n % 40}`]
        return [`d${n}`, n % 3 === 0 ? { other: 'x' } : { sku }] as const
      }),
    )
    const index = new MemoryTextIndex(documents)
    const facetsOf = () =>
      [5, 400, 5000].map((size) => {
        const request = { it: { type: 'terms', field: 'sku.keyword', size } }
        const aggregations = parseAggregations(request, 'aggregations')
        return index.search({ ...EVERYTHING, aggregations }).aggregations.get('it')
      })

    const inMemory = facetsOf()
    index.index.flush()

    const [first] = inMemory
    expect(first?.kind === 'buckets' ? first.buckets[0]?.docCount : 0).to.equal(50)
    expect(facetsOf()).to.deep.equal(inMemory)
  })
})
