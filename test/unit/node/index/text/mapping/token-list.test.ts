import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { expect } from 'chai'
import { TermTable } from '../../../../../../node/index/text/encoding/term-table.ts'
import { TOKENS_PER_CHUNK } from '../../../../../../node/index/text/indexable-document.ts'
import { DocumentFields } from '../../../../../../node/index/text/mapping/document-fields.ts'
import { TokenList } from '../../../../../../node/index/text/mapping/token-list.ts'
import { tokensOf } from '../../../../../support/worlds/field-tokens.ts'

const LONG = 400_000

describe('a list of tokens', () => {
  it('has all tokens in chunks of one length, but for the last', () => {
    const terms = new TermTable()
    const list = new TokenList(terms)
    const all = Array.from({ length: 3 * TOKENS_PER_CHUNK + 7 }, (_, position) => ({
      term: `w${position % 1000}`,
      position: position * 3,
    }))

    for (const { term, position } of all) list.push(terms.numberOf(term), position)

    expect(list.length).to.equal(all.length)
    expect(list.lastPosition).to.equal(all.at(-1)?.position)
    expect(tokensOf({ tokens: list })).to.deep.equal(all)
    const lengths = list.chunks.map(({ length }) => length)
    expect(lengths).to.deep.equal([TOKENS_PER_CHUNK, TOKENS_PER_CHUNK, TOKENS_PER_CHUNK, 7])
  })

  it('has its last position at the end of a chunk, and none if it is empty', () => {
    const list = new TokenList(new TermTable())
    const before = list.lastPosition
    for (let position = 0; position < TOKENS_PER_CHUNK; position += 1) list.push(0, position)

    expect(before).to.equal(undefined)
    expect([list.lastPosition, list.length]).to.deep.equal([TOKENS_PER_CHUNK - 1, TOKENS_PER_CHUNK])
  })

  it('holds the tokens of a long text in some eight bytes each, in each field that has them', () => {
    const collectGarbage = garbageCollector()
    const heldBytes = (): number => {
      collectGarbage()
      const { heapUsed, arrayBuffers } = process.memoryUsage()
      return heapUsed + arrayBuffers
    }
    const before = heldBytes()
    const terms = new TermTable()
    const fields = new DocumentFields(terms)
    const sinks = [fields.openText('text'), fields.openText('_all')]
    for (let position = 0; position < LONG; position += 1) {
      // Each text is a string of its own, as one that is cut out of a document.
      const term = terms.numberOf(`${position % 5000}`.padStart(14, 'w'))
      for (const sink of sinks) sink?.push(term, position)
    }

    const bytesPerToken = (heldBytes() - before) / LONG

    const [first] = fields.finish()
    expect(first?.kind === 'text' ? first.length : 0).to.equal(LONG)
    expect(bytesPerToken).to.be.below(2 * 8 + 8)
  }).timeout(60_000)
})

function garbageCollector(): () => void {
  setFlagsFromString('--expose-gc')
  const collect: unknown = runInNewContext('gc')
  if (typeof collect !== 'function') throw new TypeError('there is no collector to call')
  return () => void collect()
}
