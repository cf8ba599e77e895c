import { expect } from 'chai'
import * as fc from 'fast-check'
import { must } from '../../../../../../lib/assert.ts'
import { runAtOnce } from '../../../../../../lib/sliced.ts'
import { parseExact, type JsonValue } from '../../../../../../node/document/exact-json.ts'
import { AskedMembers } from '../../../../../../node/index/text/documents/asked-members.ts'
import { countTo } from '../../../../../support/loads/load.ts'
import { longestStepAtBestMs } from '../../../../../support/slices/step-time.ts'

const STEP_MS_MAX = 20

const read = (names: readonly string[], json: string): JsonValue =>
  runAtOnce(new AskedMembers(names).read(Buffer.from(json)))

/** By the definition: a member is kept if a path ends at it or leads into it. */
function keptByDefinition(value: JsonValue, paths: readonly string[]): JsonValue {
  if (Array.isArray(value)) return value.map((element) => keptByDefinition(element, paths))
  if (typeof value !== 'object' || value === null) return value
  const kept: [string, JsonValue][] = []
  for (const [name, member] of Object.entries(value)) {
    const rests = paths.filter((one) => one.startsWith(`${name}.`))
    if (paths.includes(name)) kept.push([name, member])
    else if (rests.length > 0) {
      const inside = rests.map((one) => one.slice(name.length + 1))
      kept.push([name, keptByDefinition(member, inside)])
    }
  }
  return Object.fromEntries(kept)
}

const name = fc.constantFrom('a', 'b', 'a.b', 'b.a', 'ß', '中.文', 'a.b.a', '')
const value = fc.letrec<{ value: JsonValue }>((tie) => ({
  value: fc.oneof(
    { depthSize: 'small' },
    fc.constantFrom<JsonValue>(1, 'x', null, true),
    fc.array(tie('value'), { maxLength: 3 }),
    fc.dictionary(name, tie('value'), { maxKeys: 4 }),
  ),
})).value
const document = fc.dictionary(name, value, { maxKeys: 5 })
const path = fc
  .array(fc.constantFrom('a', 'b', 'ß', '中', '文'), { minLength: 1, maxLength: 4 })
  .map((steps) => steps.join('.'))

describe('what some fields need of a document', () => {
  it('is what their paths lead into, in every way to read their dots', () => {
    fc.assert(
      fc.property(fc.array(path, { minLength: 1, maxLength: 4 }), document, (paths, found) => {
        const json = JSON.stringify(found)

        expect(read(paths, json)).to.deep.equal(
          keptByDefinition(must(parseExact(Buffer.from(json)), 'a document'), paths),
        )
      }),
      { numRuns: 2000 },
    )
  })

  const members = 60_000
  const inOne = `{"a":{${countTo(members)
    .map((n) => `"m${n}":${n}`)
    .join(',')}}}`
  const ofOne = countTo(1024).map((n) => `a.m${n * 50}`)
  const long = `{"a":[${countTo(20_000)
    .map((n) => `{"b":{"c":${n}},"d":1}`)
    .join(',')}]}`
  const cases: Readonly<Record<string, readonly [names: readonly string[], json: string]>> = {
    'a thousand of sixty thousand members of one': [ofOne, inOne],
    'none of sixty thousand members': [countTo(1024).map((n) => `a.other.${n}`), inOne],
    'a member of each of twenty thousand': [['a.b.c'], long],
  }
  for (const [what, [names, json]] of Object.entries(cases)) {
    it(`is read in short steps: ${what}`, () => {
      const asked = new AskedMembers(names)
      const bytes = Buffer.from(json)

      const work = () => asked.read(bytes)

      expect(longestStepAtBestMs(work, STEP_MS_MAX)).to.be.below(STEP_MS_MAX)
    }).timeout(60_000)
  }
})
