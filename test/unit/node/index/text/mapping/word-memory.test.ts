import { expect } from 'chai'
import { DocumentTerms } from '../../../../../../node/index/text/mapping/document-terms.ts'
import { WordMemory } from '../../../../../../node/index/text/mapping/word-memory.ts'

const BYTES_MAX = 64 * 1024

function make(): DocumentTerms {
  return new DocumentTerms(() => undefined)
}

/** Terms of some 80 bytes each. */
function addTerms({ table }: DocumentTerms, count: number): void {
  const from = table.size
  for (let n = from; n < from + count; n += 1) table.numberOf(`t${n}`)
}

describe('the words of the tables of a worker', () => {
  it('are kept from document to document, also when other tables come in between', () => {
    const memory = new WordMemory(BYTES_MAX)
    const [a, b] = [{}, {}]

    const first = memory.termsOf(a, make)
    const other = memory.termsOf(b, make)

    expect(memory.termsOf(a, make)).to.equal(first)
    expect(memory.termsOf(b, make)).to.equal(other)
    expect(other).not.to.equal(first)
  })

  it('are forgotten of the tables whose documents came least lately, beyond the bound', () => {
    const memory = new WordMemory(BYTES_MAX)
    const tables = Array.from({ length: 4 }, () => ({}))
    const before = tables.map((table) => {
      const terms = memory.termsOf(table, make)
      addTerms(terms, 300)
      return terms
    })

    const after = tables.toReversed().map((table) => memory.termsOf(table, make))

    expect(memory.bytes).to.be.at.most(BYTES_MAX)
    const kept = after.toReversed().map((terms, i) => terms === before[i])
    expect(kept).to.deep.equal([false, false, true, true])
  })

  it('begin anew for a table that takes more than the bound alone', () => {
    const memory = new WordMemory(BYTES_MAX)
    const table = {}
    const first = memory.termsOf(table, make)
    addTerms(first, 1000)

    const second = memory.termsOf(table, make)

    expect(second).not.to.equal(first)
    expect(memory.termsOf(table, make)).to.equal(second)
  })

  it('stay few for a thousand tables without a text', () => {
    const memory = new WordMemory(BYTES_MAX)
    for (let n = 0; n < 1000; n += 1) memory.termsOf({}, make)

    expect(memory.bytes).to.be.at.most(BYTES_MAX)
  })
})
