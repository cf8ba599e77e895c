import { expect } from 'chai'
import { dateBoundsMs, parseDateMs, parseRfc3339Ms } from '../../../../node/schema/rfc3339.ts'
import { kindOf } from '../../../../node/schema/table-field.ts'
import { dateMsOf } from '../../../../node/index/text/mapping/field-values.ts'

const NOON = Date.UTC(2024, 4, 1, 12, 30)

/** As programs print the same moment. */
const SAME = [
  '2024-05-01T12:30:00Z', '2024-05-01T12:30:00', '2024-05-01 12:30:00', '2024-05-01T12:30:00.000000', '2024-05-01 12:30:00.000000+00:00',
  '2024-05-01T12:30', '2024-05-01 12:30', '2024-05-01T14:30:00+0200', '2024-05-01T14:30:00+02', '2024-05-01T12:30:00,000', '2024-05-01 12:30:00 UTC',
  '2024-05-01 12:30:00 +0000', '2024-05-01t12:30:00z',
] // prettier-ignore
const NONE = ['2024-05-01T', '2024-05-01T12', '12:30:00', '2024-13-01T00:00:00', '2024-05-01T25:00:00', '2024-05-01T12:30:00+2', '2024-05-01T12:30.5', 'soon', '2024-02-30 00:00'] // prettier-ignore

describe('times as texts', () => {
  for (const text of SAME) {
    it(`are the same moment for every reader: ${text}`, () => {
      expect(parseRfc3339Ms(text)).to.equal(NOON)
      expect(parseDateMs(text)).to.equal(NOON)
      expect(dateMsOf(text)).to.equal(NOON)
      expect(kindOf(text)).to.equal('date')
    })
  }

  for (const text of NONE) {
    it(`are refused by every reader: ${text}`, () => {
      expect(parseRfc3339Ms(text)).to.equal(undefined)
      expect(dateMsOf(text)).to.equal(undefined)
    })
  }

  it('mean whole days in ranges', () => {
    const day = '2024-03-10'
    const start = Date.UTC(2024, 2, 10)
    const next = Date.UTC(2024, 2, 11)
    expect(boundsOf(day, undefined, true, false)).to.deep.include({
      min: start,
      inclusiveMin: true,
    })
    expect(boundsOf(day, undefined, false, false)).to.deep.include({
      min: next,
      inclusiveMin: true,
    })
    expect(boundsOf(undefined, day, false, true)).to.deep.include({
      max: next,
      inclusiveMax: false,
    })
    expect(boundsOf(undefined, day, false, false)).to.deep.include({
      max: start,
      inclusiveMax: false,
    })
    expect(boundsOf(day, day, true, true)).to.deep.equal({
      min: start,
      max: next,
      inclusiveMin: true,
      inclusiveMax: false,
    })
    const time = `${day}T00:00:00Z`
    expect(boundsOf(time, time, true, true)).to.deep.equal({
      min: start,
      max: start,
      inclusiveMin: true,
      inclusiveMax: true,
    })
  })
})

function boundsOf(
  min: string | undefined,
  max: string | undefined,
  inclusiveMin: boolean,
  inclusiveMax: boolean,
) {
  return dateBoundsMs({ min, max, inclusiveMin, inclusiveMax })
}
