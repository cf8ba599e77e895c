import { expect } from 'chai'
import * as fc from 'fast-check'
import { quantityBytes } from '../../../../operator/resources/parts/quantity.ts'

const KIB = 1024
const GIB = KIB ** 3

/** Expected values computed by hand from the definition of quantities. */
const CASES: Readonly<Record<string, number>> = {
  '0': 0,
  '1': 1,
  '+1': 1,
  '10': 10,
  '128974848': 128_974_848,
  '1Ki': KIB,
  '1Mi': KIB ** 2,
  '10Gi': 10 * GIB,
  '2Ti': 2 * KIB ** 4,
  '1Pi': KIB ** 5,
  '1Ei': KIB ** 6,
  '1k': 1000,
  '1M': 1e6,
  '5G': 5e9,
  '1T': 1e12,
  '1P': 1e15,
  '1E': 1e18,
  '1.5Gi': 1.5 * GIB,
  '.5Gi': 0.5 * GIB,
  '5.Gi': 5 * GIB,
  '129e6': 129e6,
  '1E3': 1000,
  '1E+3': 1000,
  '12e-1': 2,
  '1e0': 1,
  '1500m': 2,
  '1000m': 1,
  '1m': 1,
  '1u': 1,
  '1n': 1,
  '1000000000n': 1,
  // A tenth of a byte is a whole byte.
  '1.1Gi': 1_181_116_007,
  '1181116006400m': 1_181_116_007,
  // 0.001 times this is 3000000000.0000005 in floating point.
  '3000000000000m': 3_000_000_000,
  '1e100': Number(2n ** 63n - 1n),
  '1e-100': 1,
  '0e999999999': 0,
}

const NONE = [
  '',
  '.',
  'Gi',
  '-1',
  '-1Gi',
  '1.2.3',
  '1 Gi',
  ' 1',
  '1gi',
  '1K',
  '1e',
  '1e1.5',
  '1Gi\n',
  'NaN',
  'Infinity',
  '0x10',
  '9'.repeat(65),
]

describe('the bytes of a quantity', () => {
  for (const [quantity, bytes] of Object.entries(CASES)) {
    it(`of ${quantity} are ${bytes}`, () => {
      expect(quantityBytes(quantity)).to.equal(bytes)
    })
  }

  it('are none for any other text, and for less than nothing', () => {
    expect(NONE.map(quantityBytes)).to.deep.equal(NONE.map(() => 0))
  })

  it('are a whole number that is not negative, whatever the text is', () => {
    fc.assert(
      fc.property(
        fc.oneof(fc.string(), fc.stringMatching(/^[+-]?[\d.]{0,9}[eEKMGi]?\d?$/)),
        (text) => {
          const bytes = quantityBytes(text)
          return Number.isInteger(bytes) && bytes >= 0
        },
      ),
    )
  })

  it('are the same in every form that the API server writes a number of bytes in', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 2 ** 50 }), (bytes) =>
        [`${bytes}`, `${bytes}000m`, `${bytes}000000u`, `${bytes}e0`].every(
          (text) => quantityBytes(text) === bytes,
        ),
      ),
    )
  })
})
