import { expect } from 'chai'
import * as fc from 'fast-check'
import { runAtOnce } from '../../../../../../lib/sliced.ts'
import type { AggregationPartials } from '../../../../../../node/index/text/aggregation/aggregation-partial.ts'
import { packAnswer, unpackAnswer } from '../../../../../../node/index/text/search/packed-answer.ts'

const bucketsOf = (count: number, sub: AggregationPartials = new Map()) => ({
  kind: 'buckets' as const,
  buckets: Array.from({ length: count }, (_, i) => ({
    key: i % 2 === 0 ? `término ${i}` : i / 3,
    docCount: i,
    backgroundCount: 0,
    sub,
  })),
  isCut: true,
  foundCount: 5,
  backgroundCount: 7,
})
const hitsOf = (count: number) =>
  Array.from({ length: count }, (_, i) => ({
    key: new Uint8Array(Buffer.from(`clé ${i}`)),
    score: i / 3,
    sortValues: [i / 3],
  }))
const answerOf = (aggregations: AggregationPartials) => ({
  hits: [],
  total: 3,
  maxScore: 0.5,
  aggregations,
  warnings: ['a warning'],
})

describe('a packed answer', () => {
  it('is the same after it is unpacked', () => {
    const registers = Uint8Array.of(1, 2, 3)
    const sketch = new Map([['count', { kind: 'sketch' as const, registers }]])
    const answer = answerOf(
      new Map([
        ['many', bucketsOf(5000, sketch)],
        ['few', bucketsOf(3)],
      ]),
    )

    const packed = runAtOnce(packAnswer(answer))
    const received = runAtOnce(unpackAnswer(structuredClone(packed)))

    // Each of the many has a record, and one for its sketch.
    expect(packed.packed?.pieces).to.have.length(Math.ceil((2 + 5000 * 2 + 3) / 1024))
    expect(packed.aggregations).to.have.property('size', 0)
    expect(received).to.deep.equal(answer)
  })

  it('has its aggregations themselves when they are short', () => {
    const answer = answerOf(new Map([['few', bucketsOf(1023)]]))
    const packed = runAtOnce(packAnswer(answer))

    expect(packed.aggregations).to.equal(answer.aggregations)
    expect(runAtOnce(unpackAnswer(packed))).to.deep.equal(answer)
  })

  it('is read from another node, which sends the hits themselves', () => {
    const answer = { ...answerOf(new Map()), hits: hitsOf(3) }

    expect(runAtOnce(unpackAnswer(answer))).to.deep.equal(answer)
  })

  it('has all bytes of keys, and all sort values', () => {
    const key = fc.uint8Array({ minLength: 1, maxLength: 20 })
    const value = fc.oneof(fc.double(), fc.string({ unit: 'grapheme' }), fc.constant(undefined))
    const hit = fc.record({
      key,
      score: fc.double({ noNaN: true }),
      sortValues: fc.array(value, { maxLength: 3 }),
    })
    fc.assert(
      fc.property(fc.array(hit, { maxLength: 5 }), (hits) => {
        const answer = { ...answerOf(new Map()), hits }
        const packed = structuredClone(runAtOnce(packAnswer(answer)))
        expect(runAtOnce(unpackAnswer(packed))).to.deep.equal(answer)
      }),
    )
  })

  it('sends a score once where it is all that hits are ordered by', () => {
    const answer = { ...answerOf(new Map()), hits: hitsOf(2000) }
    const packed = runAtOnce(packAnswer(answer))

    const steps = [packAnswer(answer), unpackAnswer(packed)].map((work) => [...work].length)

    expect(packed.hits).to.include({ sortValues: undefined })
    expect(runAtOnce(unpackAnswer(structuredClone(packed)))).to.deep.equal(answer)
    expect(steps).to.deep.equal([3, 3])
  })

  it('pauses behind each piece', () => {
    const answer = answerOf(new Map([['many', bucketsOf(10_000)]]))
    const packed = runAtOnce(packAnswer(answer))

    const steps = [packAnswer(answer), unpackAnswer(packed)].map((work) => [...work].length)

    expect(steps).to.deep.equal([9, 9])
  })

  it('has shorter pieces where records are large', () => {
    const values = Array.from({ length: 512 }, (_, i) => `value ${i}`)
    const distinct = new Map([['values', { kind: 'distinct' as const, values }]])
    const answer = answerOf(new Map([['few', bucketsOf(8, distinct)]]))

    const packed = runAtOnce(packAnswer(answer))

    expect(packed.packed?.pieces).to.have.length(4)
    expect(runAtOnce(unpackAnswer(structuredClone(packed)))).to.deep.equal(answer)
  })

  it('has pieces of the same length when many buckets are nested in few', () => {
    const tags = new Map([['tags', bucketsOf(5000)]])
    const answer = answerOf(new Map([['months', bucketsOf(12, tags)]]))

    const packed = runAtOnce(packAnswer(answer))
    const received = runAtOnce(unpackAnswer(structuredClone(packed)))

    expect(packed.packed?.pieces).to.have.length(59)
    expect([...unpackAnswer(packed)]).to.have.length(58)
    expect(received).to.deep.equal(answer)
  })
})
