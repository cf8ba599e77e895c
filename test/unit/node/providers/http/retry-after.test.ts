import { expect } from 'chai'
import { parseRetryAfterMs } from '../../../../../node/providers/http/retry-after.ts'

describe('Retry-After', () => {
  const now = Date.parse('2026-03-01T12:00:00Z')
  const table: readonly (readonly [string | undefined, number | undefined])[] = [
    [undefined, undefined],
    ['3', 3_000],
    [' 1.5 ', 1_500],
    ['0', 0],
    ['Sun, 01 Mar 2026 12:00:20 GMT', 20_000],
    ['Sun, 01 Mar 2026 11:00:00 GMT', 0],
    ['1000000', 600_000],
    ['soon', undefined],
    ['-5', undefined],
  ]

  for (const [value, expected] of table) {
    it(`of ${String(value)} is ${String(expected)} ms`, () => {
      expect(parseRetryAfterMs(value, now)).to.equal(expected)
    })
  }
})
