import { expect } from 'chai'
import * as fc from 'fast-check'
import {
  compareDecimals,
  decimalOfOrdered,
  orderedTextOf,
} from '../../../../node/document/decimal.ts'

/** A decimal as an integer of units of 10^-40, which is exact. */
const decimals = fc
  .record({
    digits: fc.bigInt({ min: -(10n ** 30n), max: 10n ** 30n }),
    power: fc.integer({ min: -30, max: 30 }),
  })
  .map(({ digits, power }) => ({
    text: `${digits}e${power}`,
    value: digits * 10n ** BigInt(power + 30),
  }))

describe('decimals', () => {
  it('have the order of their values', () => {
    fc.assert(
      fc.property(decimals, decimals, (a, b) => {
        expect(compareDecimals(a.text, b.text)).to.equal(
          a.value < b.value ? -1 : Number(a.value > b.value),
        )
      }),
    )
  })

  it('are equal however they are written, and come back from their ordered text', () => {
    expect(
      new Set(['1.50', '15e-1', '+1.5', '0.015E2', '1.5000'].map(orderedTextOf)).size,
    ).to.equal(1)
    expect(new Set(['0', '-0', '0.00', '0e9'].map(orderedTextOf)).size).to.equal(1)
    fc.assert(
      fc.property(decimals, ({ text }) => {
        expect(compareDecimals(decimalOfOrdered(orderedTextOf(text)), text)).to.equal(0)
      }),
    )
    expect(
      ['-12.5', '9007199254740993', '0.001', '1e+300', '-3e-9'].map((text) =>
        decimalOfOrdered(orderedTextOf(text)),
      ),
    ).to.deep.equal(['-12.5', '9007199254740993', '0.001', '1e+300', '-3e-9'])
  })
})
