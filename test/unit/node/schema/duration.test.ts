import { expect } from 'chai'
import * as fc from 'fast-check'
import { parseDurationMs } from '../../../../node/schema/duration.ts'
import { parseRfc3339Ms } from '../../../../node/schema/rfc3339.ts'

describe('parseDurationMs', () => {
  const examples: Record<string, number> = {
    '1ms': 1,
    '30s': 30_000,
    '5m': 300_000,
    '1.5h': 5_400_000,
    '7d': 604_800_000,
    '168h': 604_800_000,
    '1h30m': 5_400_000,
    '1d2h3m4s5ms': 93_784_005,
    '0.5ms': 1,
    '36525d': 3_155_760_000_000,
  }
  for (const [text, expected] of Object.entries(examples)) {
    it(`reads ${text}`, () => {
      expect(parseDurationMs(text, 'ttl')).to.equal(expected)
    })
  }

  for (const text of [
    '',
    ' ',
    '5',
    's',
    '-5s',
    '+5s',
    '5 s',
    '5S',
    '1h-1m',
    '.5h',
    '1.h',
    '1e3s',
    '5s ',
    '1w',
    '9'.repeat(64),
  ]) {
    it(`refuses ${JSON.stringify(text.slice(0, 20))}`, () => {
      expect(() => parseDurationMs(text, 'ttl'))
        .to.throw('ttl: not a duration')
        .with.property('code', 'INVALID_ARGUMENT')
    })
  }

  it('refuses zero and infinity', () => {
    for (const text of ['0s', '0.1ms', '36526d', '99999999999999999999d']) {
      expect(() => parseDurationMs(text, 'ttl'), text).to.throw('ttl: must be at least 1ms')
    }
  })
})

describe('parseRfc3339Ms', () => {
  it('reads what Date writes', () => {
    fc.assert(
      fc.property(
        fc.date({ min: new Date(-6e13), max: new Date(2.5e14), noInvalidDate: true }),
        (date) => {
          fc.pre(date.getUTCFullYear() >= 0)
          expect(parseRfc3339Ms(date.toISOString())).to.equal(date.getTime())
        },
      ),
    )
  })

  const examples: Record<string, string> = {
    '2026-01-02T03:04:05Z': '2026-01-02T03:04:05.000Z',
    '2026-01-02t03:04:05.1z': '2026-01-02T03:04:05.100Z',
    '2026-01-02 03:04:05.123456789+01:30': '2026-01-02T01:34:05.123Z',
    '2026-01-02T03:04:05-00:30': '2026-01-02T03:34:05.000Z',
    '2024-02-29T00:00:00Z': '2024-02-29T00:00:00.000Z',
    '2016-12-31T23:59:60Z': '2017-01-01T00:00:00.000Z',
    '0001-01-01T00:00:00Z': '0001-01-01T00:00:00.000Z',
  }
  for (const [text, expected] of Object.entries(examples)) {
    it(`reads ${text}`, () => {
      expect(parseRfc3339Ms(text)).to.equal(Date.parse(expected))
    })
  }

  const refused = [
    '',
    '2026-01-02',
    '2026-13-01T00:00:00Z',
    '2025-02-29T00:00:00Z',
    '2026-04-31T00:00:00Z',
    '2026-00-01T00:00:00Z',
    '2026-01-00T00:00:00Z',
    '2026-01-02T24:00:00Z',
    '2026-01-02T00:60:00Z',
    '2026-01-02T00:00:61Z',
    '2026-01-02T00:00:00.Z',
    '2026-01-02T00:00:00.1234567890Z',
    '2026-01-02T00:00:00+24:00',
    '1767312000',
    ' 2026-01-02T03:04:05Z',
  ]
  for (const text of refused) {
    it(`does not accept ${JSON.stringify(text)}`, () => {
      expect(parseRfc3339Ms(text)).to.equal(undefined)
    })
  }
})
