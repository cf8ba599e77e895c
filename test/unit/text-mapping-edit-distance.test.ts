import { expect } from 'chai'
import * as fc from 'fast-check'
import { editDistanceTest } from '../../node/query/edit-distance.ts'
import { parseGeoPoint } from '../../node/geo/geo-point.ts'

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

  it('agrees with the definition', () => {
    fc.assert(
      fc.property(word, word, fc.integer({ min: 1, max: 2 }), (left, right, distance) => {
        const matcher = editDistanceTest(left, { distance, prefixLength: 0 })
        expect(matcher.matches(right)).to.equal(distanceOf(left, right) <= distance)
      }),
      { numRuns: 500 },
    )
  })
})

describe('parseGeoPoint', () => {
  it('takes a geohash for the middle of its cell', () => {
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
