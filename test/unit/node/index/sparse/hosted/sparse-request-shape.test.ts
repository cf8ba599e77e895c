import { expect } from 'chai'
import { isIndexRequest } from '../../../../../../node/index/kinds/index-request.ts'

const VECTOR = { terms: Uint32Array.of(1, 7), weights: Float32Array.of(0.5, 0) }
const LEGAL = { vector: VECTOR, limit: 10, nowMs: 0 }
const withVector = (more: object) => ({ ...LEGAL, vector: { ...VECTOR, ...more } })

const asked = (request: unknown, question = 'nearest') =>
  isIndexRequest({ kind: 'vectors', question, request })

describe('a request for the nearest sparse vectors, from another node', () => {
  it('is read as this version writes it', () => {
    for (const filter of [undefined, { kind: 'list', ordinals: Uint32Array.of(1) }]) {
      expect(asked({ ...LEGAL, filter })).to.equal(true)
    }
  })

  const others: Readonly<Record<string, unknown>> = {
    'no weights': withVector({ weights: undefined }),
    'fewer weights': withVector({ weights: Float32Array.of(1) }),
    'terms that do not ascend': withVector({ terms: Uint32Array.of(7, 1) }),
    'a term twice': withVector({ terms: Uint32Array.of(7, 7) }),
    'a negative weight': withVector({ weights: Float32Array.of(1, -1) }),
    'a weight that is not finite': withVector({ weights: Float32Array.of(1, NaN) }),
    'no weight above 0': withVector({ weights: Float32Array.of(0, 0) }),
    'too many terms': withVector({
      terms: Uint32Array.from({ length: 4097 }, (_, at) => at),
      weights: new Float32Array(4097).fill(1),
    }),
    'terms of another type': withVector({ terms: [1, 7] }),
    'no limit': { ...LEGAL, limit: 0 },
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
