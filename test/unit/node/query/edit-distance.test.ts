import { expect } from 'chai'
import * as fc from 'fast-check'
import { editDistanceTest } from '../../../../node/query/edit-distance.ts'
import { parseGeoPoint } from '../../../../node/geo/parse-geo-point.ts'

/** Optimal string alignment by its definition, over whole words. */
function distanceOf(left: string, right: string): number {
  if (left === '' || right === '') return left.length + right.length
  const [a, b] = [left.slice(0, -1), right.slice(0, -1)]
  const costs = [
    distanceOf(a, b) + (left.at(-1) === right.at(-1) ? 0 : 1),
    distanceOf(a, right) + 1,
    distanceOf(left, b) + 1,
  ]
  const isSwap = left.length > 1 && left.at(-1) === right.at(-2) && left.at(-2) === right.at(-1)
  if (isSwap && right.length > 1) costs.push(distanceOf(left.slice(0, -2), right.slice(0, -2)) + 1)
  return Math.min(...costs)
}

describe('editDistanceTest', () => {
  const word = fc.string({ unit: fc.constantFrom('a', 'b', 'c'), maxLength: 5 })

  it('keeps a narrow band for a word of the largest size', () => {
    const before = process.memoryUsage().arrayBuffers
    const long = 'ab'.repeat(5_000)
    const test = editDistanceTest(long, { distance: 2, prefixLength: 0 })
    const heldBytes = process.memoryUsage().arrayBuffers - before

    expect(test.distanceTo(`${long.slice(0, 7_000)}c${long.slice(7_001)}b`)).to.equal(2)
    expect(heldBytes).to.be.below(1024 * 1024)
  })

  it('agrees with the definition', () => {
    fc.assert(
      fc.property(word, word, fc.integer({ min: 1, max: 2 }), (left, right, distance) => {
        const test = editDistanceTest(left, { distance, prefixLength: 0 })
        const expected = distanceOf(left, right)
        expect(test.distanceTo(right)).to.equal(expected <= distance ? expected : Infinity)
      }),
      { numRuns: 500 },
    )
  })

  it('agrees with the definition for terms in sequence, also with common prefixes', () => {
    const words = fc.array(word, { minLength: 2, maxLength: 8 })
    fc.assert(
      fc.property(word, words, fc.integer({ min: 1, max: 2 }), (left, terms, distance) => {
        const test = editDistanceTest(left, { distance, prefixLength: 0 })
        for (const term of terms) {
          const expected = distanceOf(left, term)
          expect(test.distanceTo(term)).to.equal(expected <= distance ? expected : Infinity)
        }
      }),
      { numRuns: 500 },
    )
  })

  it('reports only prefixes without a matching term as dead ends', () => {
    fc.assert(
      fc.property(
        word,
        word,
        word,
        fc.integer({ min: 1, max: 2 }),
        (left, term, more, distance) => {
          const options = { distance, prefixLength: 0 }
          const test = editDistanceTest(left, options)
          test.distanceTo(term)
          const deadEnd = test.deadEnd()
          fc.pre(deadEnd !== undefined)
          expect(term.startsWith(deadEnd)).to.equal(true)
          expect(editDistanceTest(left, options).distanceTo(deadEnd + more)).to.equal(Infinity)
        },
      ),
      { numRuns: 500 },
    )
  })

  it('counts a character beyond the basic plane as one', () => {
    const test = editDistanceTest('kit😀en', { distance: 1, prefixLength: 3 })

    expect(['kit😁en', 'kiten', 'kit😀en', 'kits', 'kxt😀en'].map(test.distanceTo)).to.deep.equal([
      1,
      1,
      0,
      Infinity,
      Infinity,
    ])
  })
})

describe('parseGeoPoint', () => {
  it('reads a geohash as the centre of its cell', () => {
    // The worked example of the article "Geohash" in Wikipedia.
    const point = parseGeoPoint('ezs42')

    expect(point?.lat).to.be.closeTo(42.605, 0.001)
    expect(point?.lon).to.be.closeTo(-5.603, 0.001)
  })

  for (const value of [
    '',
    'a',
    'ail',
    '1,',
    ',1',
    '1;2',
    '181,0',
    'ezs42ezs42ezs',
    true,
    null,
    [],
    [1],
    [1, 2, 3, 4],
    {},
  ]) {
    it(`refuses ${JSON.stringify(value)}`, () => {
      expect(parseGeoPoint(value)).to.equal(undefined)
    })
  }
})
