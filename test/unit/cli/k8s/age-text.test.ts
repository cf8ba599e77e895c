import { expect } from 'chai'
import { ageText } from '../../../../cli/k8s/age-text.ts'

const NOW_MS = Date.parse('2026-11-27T12:00:00Z')
const MINUTE_MS = 60_000

const CASES: Readonly<Record<string, number>> = {
  '0 s': -5000,
  '59 s': 59_999,
  '1 min': MINUTE_MS,
  '59 min': 59.9 * MINUTE_MS,
  '1 h': 60 * MINUTE_MS,
  '3 h 5 min': 185 * MINUTE_MS,
  '1 d': 1440 * MINUTE_MS,
  '2 d 4 h': 52.5 * 60 * MINUTE_MS,
}

describe('ageText', () => {
  for (const [text, ms] of Object.entries(CASES)) {
    it(`is ${text}`, () => {
      expect(ageText(new Date(NOW_MS - ms).toISOString(), NOW_MS)).to.equal(text)
    })
  }

  it('is empty for what is not a moment', () => {
    expect([ageText(undefined, NOW_MS), ageText('soon', NOW_MS)]).to.deep.equal(['', ''])
  })
})
