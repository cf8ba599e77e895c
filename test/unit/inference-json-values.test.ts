import { expect } from 'chai'
import * as fc from 'fast-check'
import { hasTooManyValues } from '../../inference/api/json-values.ts'
import { parseTestSettings } from '../harness/test-settings.ts'

const has = (json: string, valuesMax: number): boolean =>
  hasTooManyValues(Buffer.from(json), valuesMax)

describe('the values of a JSON text', () => {
  const { seed } = parseTestSettings(process.env)

  it('are counted outside of strings', () => {
    expect(has('[1,2,3]', 3)).to.equal(true)
    expect(has('["a,b,c,d,e,f"]', 3)).to.equal(false)
    expect(has(String.raw`["\"\\\",[[[[[[[[","\\"]`, 3)).to.equal(false)
    expect(has(String.raw`["\\",1,2]`, 3)).to.equal(true)
    expect(has('"open, , , , , ,', 3)).to.equal(false)
  })

  it(`are never fewer than there are (QUARRY_TEST_SEED=${seed})`, () => {
    const countOf = (value: unknown): number =>
      typeof value !== 'object' || value === null
        ? 1
        : Object.values(value).reduce<number>((sum, member) => sum + countOf(member), 1)

    const property = fc.property(fc.jsonValue(), (value) => {
      const json = JSON.stringify(value)
      // An opening counts for its first member, so empty lists may count for more, never for less.
      expect(has(json, countOf(value) - 1)).to.equal(true)
      expect(has(json, 2 * countOf(value))).to.equal(false)
    })

    fc.assert(property, { seed, numRuns: 500 })
  })

  it('are counted in little time, however the quotes are escaped', () => {
    expect(has(JSON.stringify('\\"'.repeat(4_000_000)), 1000)).to.equal(false)
  })
})
