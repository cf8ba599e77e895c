import { expect } from 'chai'
import {
  buildTokenFeeds,
  floatTensor,
  floatsOf,
} from '../../../../inference/runtime/graph-feeds.ts'
import type { GraphSlot } from '../../../../inference/runtime/graph-session.ts'

const ENCODINGS = [
  { ids: [2, 4, 5, 3], typeIds: [0, 0, 1, 1] },
  { ids: [2, 3], typeIds: [0, 1] },
]

function slots(type: 'int64' | 'int32'): GraphSlot[] {
  const names = ['input_ids', 'attention_mask', 'token_type_ids', 'position_ids', 'other']
  return names.map((name) => ({ name, type, dims: [undefined, undefined] }))
}

function numbersOf(side: 'left' | 'right', type: 'int64' | 'int32'): Record<string, number[]> {
  const feeds = buildTokenFeeds(slots(type), ENCODINGS, { padId: 9, paddingSide: side })
  return Object.fromEntries(
    Object.entries(feeds).map(([name, { data }]) => [name, Array.from(data, Number)]),
  )
}

describe('token feeds', () => {
  for (const type of ['int64', 'int32'] as const) {
    it(`are padded on the right, as ${type}`, () => {
      expect(numbersOf('right', type)).to.deep.equal({
        input_ids: [2, 4, 5, 3, 2, 3, 9, 9],
        attention_mask: [1, 1, 1, 1, 1, 1, 0, 0],
        token_type_ids: [0, 0, 1, 1, 0, 1, 0, 0],
        position_ids: [0, 1, 2, 3, 0, 1, 0, 0],
      })
    })
  }

  it('are padded on the left, with positions that begin at the text', () => {
    expect(numbersOf('left', 'int64')).to.deep.equal({
      input_ids: [2, 4, 5, 3, 9, 9, 2, 3],
      attention_mask: [1, 1, 1, 1, 0, 0, 1, 1],
      token_type_ids: [0, 0, 1, 1, 0, 0, 0, 1],
      position_ids: [0, 1, 2, 3, 0, 0, 0, 1],
    })
  })

  it('hold an empty past for a decoder that embeds', () => {
    const past: GraphSlot = {
      name: 'past_key_values.0.key',
      type: 'float32',
      dims: [undefined, 2, undefined, 8],
    }

    const feeds = buildTokenFeeds([past], ENCODINGS, { padId: 0, paddingSide: 'right' })

    expect(feeds[past.name]?.dims).to.deep.equal([2, 2, 0, 8])
  })

  it('carry floats in the width that the graph declares', () => {
    const slot: GraphSlot = { name: 'x', type: 'float16', dims: [] }

    const tensor = floatTensor(slot, [3], Float32Array.of(0.5, -2, 65_504))

    expect(tensor.type).to.equal('float16')
    expect([...floatsOf(tensor)]).to.deep.equal([0.5, -2, 65_504])
  })
})
