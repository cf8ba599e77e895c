import { expect } from 'chai'
import { isIndexRequest } from '../../../../../../node/index/kinds/index-request.ts'

const LEGAL = { vector: Float32Array.of(1, 2), limit: 10, effort: 0.5, nowMs: 0 }
const list = { kind: 'list', ordinals: Uint32Array.of(1) }
const bitmap = { kind: 'bitmap', from: 32, words: Uint32Array.of(1) }

const asked = (request: unknown, question = 'nearest') =>
  isIndexRequest({ kind: 'vectors', question, request })

describe('a request for the nearest, from another node', () => {
  it('is read as this version writes it', () => {
    for (const filter of [undefined, list, bitmap]) {
      expect(asked({ ...LEGAL, filter, distanceUnder: 1, distanceOver: 0 })).to.equal(true)
    }
  })

  const others: Readonly<Record<string, unknown>> = {
    nothing: undefined,
    'a text': 'nearest',
    'no vector': { ...LEGAL, vector: undefined },
    'an empty vector': { ...LEGAL, vector: new Float32Array(0) },
    'a vector of doubles': { ...LEGAL, vector: Float64Array.of(1, 2) },
    'numbers that are not finite': { ...LEGAL, vector: Float32Array.of(NaN, 1) },
    'no limit': { ...LEGAL, limit: 0 },
    'a limit that is too high': { ...LEGAL, limit: 10_001 },
    'a part of a limit': { ...LEGAL, limit: 1.5 },
    'too much effort': { ...LEGAL, effort: 1.1 },
    'a distance that is none': { ...LEGAL, distanceUnder: 'far' },
    'a filter of another kind': { ...LEGAL, filter: { kind: 'all' } },
    'a list without ordinals': { ...LEGAL, filter: { ...list, ordinals: [1] } },
    'a bitmap that begins within a word': { ...LEGAL, filter: { ...bitmap, from: 7 } },
    'no time': { ...LEGAL, nowMs: NaN },
  }
  for (const [name, request] of Object.entries(others)) {
    it(`is refused with ${name}`, () => {
      expect(asked(request)).to.equal(false)
    })
  }

  it('is refused for another question', () => {
    expect(asked(LEGAL, 'search')).to.equal(false)
  })
})
