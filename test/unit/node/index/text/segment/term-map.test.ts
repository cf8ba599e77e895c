import { expect } from 'chai'
import { seededRandom } from '../../../../../../lib/random.ts'
import { TermTable } from '../../../../../../node/index/text/encoding/term-table.ts'
import { NO_TERM, TermMap } from '../../../../../../node/index/text/segment/term-map.ts'

const TERMS = 131_072

function tableOf(count: number): TermTable {
  const table = new TermTable()
  for (let n = 0; n < count; n += 1) table.numberOf(`t${n}`)
  return table
}

/** Where the map with 8,192 slots looks first. */
function firstSlotOf(term: number): number {
  return Math.imul(term, 0x9e37_79b1) >>> 19
}

describe('the numbers of a field', () => {
  it('are those that were set, however many terms there are', () => {
    const random = seededRandom(1)
    const map = new TermMap(tableOf(TERMS))
    const expected = new Map<number, number>()

    for (let number = 0; number < 10_000; number += 1) {
      const term = Math.floor(random() * TERMS)
      if (expected.has(term)) continue
      map.set(term, number)
      expected.set(term, number)
    }

    const wrong = Array.from({ length: TERMS }, (_, term) => term).filter((term) => {
      return map.get(term) !== (expected.get(term) ?? NO_TERM)
    })
    expect(wrong).to.deep.equal([])
  })

  it('are listed when the terms of a document meet in few slots', () => {
    const table = tableOf(TERMS)
    const terms = Array.from({ length: TERMS }, (_, term) => term)
    const met = terms.toSorted((a, b) => firstSlotOf(a) - firstSlotOf(b)).slice(0, 3000)
    const map = new TermMap(table)

    for (const [number, term] of met.entries()) map.set(term, number)

    expect(map.bytes).to.be.at.least(TERMS * 4)
    expect(met.map((term) => map.get(term))).to.deep.equal([...met.keys()])
    expect(map.get(terms.at(-1) ?? 0)).to.equal(NO_TERM)
  })
})
