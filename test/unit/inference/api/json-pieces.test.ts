import { expect } from 'chai'
import * as fc from 'fast-check'
import { jsonPieces } from '../../../../inference/api/json-pieces.ts'

function joined(value: unknown): string {
  return [...jsonPieces(value)].join('')
}

describe('JSON in pieces', () => {
  it('is the text that JSON.stringify writes', () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        expect(joined(value)).to.equal(JSON.stringify(value))
      }),
      { numRuns: 500 },
    )
  })

  it('leaves out absent members, and writes iterators as lists', () => {
    const value = { a: undefined, b: [1, 2].values().map((number) => ({ number })), c: [].values() }

    expect(joined(value)).to.equal('{"b":[{"number":1},{"number":2}],"c":[]}')
  })

  it('cuts long texts between characters', () => {
    for (const shift of ['', 'x']) {
      const text = `${shift}${'😀"\n'.repeat(50_000)}\ud83d`

      expect(joined(text)).to.equal(JSON.stringify(text))
    }
  })

  it('makes each piece on request, and no large piece', () => {
    let made = 0
    const texts = Array.from({ length: 1000 }, () => 'x'.repeat(100_000))
    const pieces = jsonPieces(
      texts.values().map((text) => {
        made += 1
        return { text }
      }),
    )

    const first = Array.from({ length: 20 }, () => String(pieces.next().value))

    expect(made).to.be.lessThan(20)
    expect(Math.max(...first.map(({ length }) => length))).to.be.at.most(64 * 1024)
  })
})
