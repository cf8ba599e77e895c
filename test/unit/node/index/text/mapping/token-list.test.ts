import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { expect } from 'chai'
import { DocumentFields } from '../../../../../../node/index/text/mapping/document-fields.ts'
import { TokenList } from '../../../../../../node/index/text/mapping/token-list.ts'

const CHUNK = 16_384
const LONG = 400_000

describe('a list of tokens', () => {
  it('has the same slices as an array', () => {
    const list = new TokenList()
    const all = Array.from({ length: 3 * CHUNK + 7 }, (_, position) => ({
      term: `w${position % 1000}`,
      position: position * 3,
    }))

    const lengths = all.map((token) => list.push(token))

    expect(lengths.at(-1)).to.equal(all.length)
    expect(list.last).to.deep.equal(all.at(-1))
    for (const [from, to] of [
      [0, all.length],
      [0, 4096],
      [CHUNK, 2 * CHUNK],
      [CHUNK - 1, CHUNK + 1],
      [5, 3 * CHUNK + 100],
      [3 * CHUNK, 4 * CHUNK],
      [all.length, all.length + 1],
    ] as const) {
      expect(list.slice(from, to), `${from} to ${to}`).to.deep.equal(all.slice(from, to))
    }
  })

  it('has its last token at the end of a chunk, and no last token if it is empty', () => {
    const list = new TokenList()
    const before = list.last
    for (let position = 0; position < CHUNK; position += 1) list.push({ term: 'a', position })

    expect(before).to.equal(undefined)
    expect([list.last?.position, list.length]).to.deep.equal([CHUNK - 1, CHUNK])
  })

  it('holds the tokens of a long text in some eight bytes each, in each field that has them', () => {
    const collectGarbage = garbageCollector()
    const heldBytes = (): number => {
      collectGarbage()
      const { heapUsed, arrayBuffers } = process.memoryUsage()
      return heapUsed + arrayBuffers
    }
    const before = heldBytes()
    const fields = new DocumentFields()
    const sinks = [fields.openText('text'), fields.openText('_all')]
    for (let position = 0; position < LONG; position += 1) {
      // Each text is a string of its own, as one that is cut out of a document.
      const token = { term: `${position % 5000}`.padStart(14, 'w'), position }
      for (const sink of sinks) sink?.(token)
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
