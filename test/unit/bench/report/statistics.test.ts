import { expect } from 'chai'
import { Samples, median, percentile, spreadOf } from '../../../../bench/report/statistics.ts'

describe('bench statistics', () => {
  it('takes the middle of an odd number of values, in any order', () => {
    expect(median([9, 1, 5])).to.equal(5)
  })

  it('takes the mean of the two middle values of an even number', () => {
    expect(median([4, 1, 2, 100])).to.equal(3)
  })

  it('does not reorder its arguments', () => {
    const values = [3, 1, 2]

    median(values)

    expect(values).to.deep.equal([3, 1, 2])
  })

  it('spreads from the least to the greatest', () => {
    expect(spreadOf([2, 8, 5])).to.deep.equal({ median: 5, min: 2, max: 8 })
  })

  it('refuses to summarise an empty list', () => {
    expect(() => spreadOf([])).to.throw('at least one value')
  })

  const hundred = Float64Array.from({ length: 100 }, (_, index) => index + 1)
  const cases = [
    { values: hundred, fraction: 0.5, expected: 50 },
    { values: hundred, fraction: 0.99, expected: 99 },
    { values: hundred, fraction: 1, expected: 100 },
    { values: Float64Array.of(7), fraction: 0.01, expected: 7 },
    { values: Float64Array.of(1, 2, 3), fraction: 0.5, expected: 2 },
  ]
  for (const { values, fraction, expected } of cases) {
    it(`finds percentile ${fraction} of ${values.length} values at the nearest rank`, () => {
      expect(percentile(values, fraction)).to.equal(expected)
    })
  }

  it('keeps every sample beyond its first capacity, and sorts by number', () => {
    const samples = new Samples()
    for (let value = 10_000; value > 0; value -= 1) samples.add(value)

    const sorted = samples.sorted()

    expect(samples.length).to.equal(10_000)
    expect(sorted.length).to.equal(10_000)
    expect([sorted[0], sorted[1], sorted[9999]]).to.deep.equal([1, 2, 10_000])
  })
})
