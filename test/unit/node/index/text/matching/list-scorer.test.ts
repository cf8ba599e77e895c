import { expect } from 'chai'
import { array, assert, integer, property, uniqueArray } from 'fast-check'
import { newBitset, setBit } from '../../../../../../node/index/encoding/bitset.ts'
import { NO_MORE } from '../../../../../../node/index/text/postings/postings-cursor.ts'
import {
  BitsetScorer,
  ListScorer,
  type Scorer,
} from '../../../../../../node/index/text/matching/scorer.ts'

const DOCS = 500
const documents = uniqueArray(integer({ min: 0, max: DOCS - 1 }), { maxLength: 60 })
/** How far beyond the present document the next one is looked for. */
const leaps = array(integer({ min: 1, max: 90 }), { maxLength: 80 })

describe('a scorer of a list of documents', () => {
  it('walks like the scorer of the same bitmap', () => {
    assert(
      property(documents, leaps, (docs, steps) => {
        const bits = newBitset(DOCS)
        for (const doc of docs) setBit(bits, doc)

        const list = new ListScorer(Uint32Array.from(docs).toSorted(), 2)
        const bitmap = new BitsetScorer(bits, DOCS, 2)

        expect(walk(list, steps)).to.deep.equal(walk(bitmap, steps))
        expect(list.cost).to.equal(docs.length)
      }),
      { numRuns: 500 },
    )
  })
})

function walk(scorer: Scorer, steps: readonly number[]): readonly number[] {
  const seen = [scorer.next()]
  for (const step of steps) {
    if (scorer.doc === NO_MORE) break
    seen.push(scorer.advance(scorer.doc + step), scorer.score())
  }
  return seen
}
