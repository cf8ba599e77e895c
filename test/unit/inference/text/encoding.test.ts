import { expect } from 'chai'
import { fit } from '../../../../inference/text/encoding.ts'
import type { LayoutPart } from '../../../../inference/text/special-layout.ts'

const LAYOUT: readonly LayoutPart[] = [
  { kind: 'special', id: 0, typeId: 0 },
  { kind: 'sequence', of: 'first', typeId: 0 },
  { kind: 'special', id: 1, typeId: 0 },
  { kind: 'sequence', of: 'second', typeId: 1 },
  { kind: 'special', id: 1, typeId: 1 },
]

/** The tokens of both texts that are kept. */
function keptOf(first: number, second: number, tokensMax: number): readonly [number, number] {
  const contents = { first: Array(first).fill(100), second: Array(second).fill(200) }
  const { ids } = fit(LAYOUT, contents, tokensMax)
  return [ids.filter((id) => id === 100).length, ids.filter((id) => id === 200).length]
}

describe('the encoding of a pair', () => {
  it('is cut at the longer text first, so that a long query leaves some of the document', () => {
    expect(keptOf(500, 10, 103)).to.deep.equal([90, 10])
    expect(keptOf(10, 500, 103)).to.deep.equal([10, 90])
    expect(keptOf(500, 500, 103)).to.deep.equal([50, 50])
    expect(keptOf(500, 60, 104)).to.deep.equal([51, 50])
    expect(keptOf(60, 500, 104)).to.deep.equal([50, 51])
    expect(keptOf(40, 60, 103)).to.deep.equal([40, 60])
    expect(keptOf(500, 0, 103)).to.deep.equal([100, 0])
  })
})
