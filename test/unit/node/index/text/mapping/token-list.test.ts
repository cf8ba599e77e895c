import { expect } from 'chai'
import { TokenList } from '../../../../../../node/index/text/mapping/document-fields.ts'

const CHUNK = 16_384

describe('a list of tokens', () => {
  it('has the same slices as an array', () => {
    const list = new TokenList()
    const all = Array.from({ length: 3 * CHUNK + 7 }, (_, position) => ({ term: 'a', position }))

    const lengths = all.map((token) => list.push(token))

    expect(lengths.at(-1)).to.equal(all.length)
    expect(list.last).to.equal(all.at(-1))
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
})
