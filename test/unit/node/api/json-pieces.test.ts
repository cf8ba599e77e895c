import { expect } from 'chai'
import * as fc from 'fast-check'
import { runAtOnce } from '../../../../lib/sliced.ts'
import { JsonPieces, writeJson } from '../../../../node/api/json-pieces.ts'

function textOf(value: unknown): string {
  const pieces = new JsonPieces()
  runAtOnce(writeJson(value, pieces))
  return Buffer.concat(pieces.take()).toString()
}

describe('JSON in pieces', () => {
  it('is the text that JSON.stringify writes', () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        expect(textOf(value)).to.equal(JSON.stringify(value))
      }),
    )
  })

  it('leaves out undefined members, and keeps the digits of a raw number', () => {
    const value = { a: undefined, b: JSON.rawJSON('12345678901234567890'), c: [NaN] }

    expect(textOf(value)).to.equal(JSON.stringify(value))
  })

  it('pauses while it writes a large value', () => {
    const value = Array.from({ length: 100_000 }, (_, i) => ({ name: `table ${i}` }))

    expect([...writeJson(value, new JsonPieces())].length).to.be.at.least(20)
  })

  it('passes long JSON on without a copy', () => {
    const json = Buffer.from(JSON.stringify('x'.repeat(100_000)))
    const pieces = new JsonPieces()

    pieces.text('[')
    pieces.json(json)
    pieces.text(']')

    expect(pieces.take()[1]).to.equal(json)
  })
})
