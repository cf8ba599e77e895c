// Buckets of intervals against exact decimals: units of 10^-60, counted by bigints.

import { expect } from 'chai'
import * as fc from 'fast-check'
import { timesDecimal } from '../../../../../../node/document/decimal.ts'
import { intervalStart } from '../../../../../../node/index/text/aggregation/date-interval.ts'
import { intervalIndex } from '../../../../../../node/index/text/aggregation/number-buckets.ts'

const SCALE = 60
const INTERVALS = [
  0.1,
  0.2,
  0.3,
  0.7,
  0.01,
  0.05,
  1.1,
  2.5,
  3,
  7,
  10,
  0.001,
  1e-7,
  12.34,
  1 / 3,
  1e6,
]

function unitsOf(value: number): bigint {
  const [mantissa = '', power = '0'] = String(value).split('e')
  const [whole = '', fraction = ''] = mantissa.split('.')
  return BigInt(whole + fraction) * 10n ** BigInt(SCALE + Number(power) - fraction.length)
}

function floorDivided(value: bigint, by: bigint): bigint {
  const rest = ((value % by) + by) % by
  return (value - rest) / by
}

describe('the bucket of an interval', () => {
  const values = fc.oneof(
    fc.tuple(fc.integer({ min: -1e6, max: 1e6 }), fc.integer({ min: 0, max: 6 })).map(([n, d]) => n / 10 ** d),
    fc.tuple(fc.integer({ min: -1000, max: 1000 }), fc.constantFrom(...INTERVALS)).map(([n, i]) => n * i),
    fc.double({ min: -1e6, max: 1e6, noNaN: true }).filter((value) => Math.abs(value) > 1e-3),
  ) // prettier-ignore

  for (const interval of INTERVALS) {
    it(`holds what decimals say, for ${interval}`, () => {
      const indexOf = intervalIndex(interval)
      fc.assert(
        fc.property(values, (value) => {
          expect(BigInt(indexOf(value))).to.equal(floorDivided(unitsOf(value), unitsOf(interval)))
        }),
        { numRuns: 500 },
      )
    })
  }

  it('begins at a multiple of the interval, without rounding', () => {
    const keys = [1, 2, 3, 6, 7, -3, 0].map((count) => timesDecimal(0.1, count))

    expect(keys).to.deep.equal(['0.1', '0.2', '0.3', '0.6', '0.7', '-0.3', '0'])
    expect(timesDecimal(0.07, 3)).to.equal('0.21')
    expect(timesDecimal(1.1, 9_007_199_254_740_991)).to.equal('9907919180215090.1')
  })

  it('of time is a whole number of intervals', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: -8e14, max: 8e14 }),
        fc.integer({ min: 1, max: 3e9 }),
        (timeMs, ms) => {
          const start = intervalStart({ kind: 'fixed', ms }, timeMs)
          expect(BigInt(start)).to.equal(floorDivided(BigInt(timeMs), BigInt(ms)) * BigInt(ms))
        },
      ),
    )
  })
})
