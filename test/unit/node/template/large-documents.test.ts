// Documents of the largest size, from their bytes to the text: no step of it is long, whatever a template does.

import { expect } from 'chai'
import * as fc from 'fast-check'
import { ManualClock } from '../../../../lib/clock.ts'
import { runAtOnce } from '../../../../lib/sliced.ts'
import { DOCUMENT_BYTES_MAX } from '../../../../node/document/document-limits.ts'
import { parseInParts, parseInPartsWithout } from '../../../../node/document/exact-json-parts.ts'
import { parseExact, type JsonValue } from '../../../../node/document/exact-json.ts'
import { isJsonObject, namesOf } from '../../../../node/document/json-object.ts'
import { buildSourceReader } from '../../../../node/enrichment/source-reader.ts'
import { TemplateCache } from '../../../../node/template/template-cache.ts'
import { errorOf } from '../../../support/error-of.ts'
import { countTo } from '../../../support/loads/load.ts'
import { longestStepAtBestMs } from '../../../support/slices/step-time.ts'

/**
 * The longest step makes room for twice as many members, which took 5 to 18 ms; a list of all names of a million
 * members took 300 ms, and an object built at once 570 ms.
 */
const STEP_MS_MAX = 40
/** A list of five million numbers took 25 to 37 ms to grow; one of a million takes 4 ms. */
const LIST_STEP_MS_MAX = 20
const MEMBERS_MAX = 200_000
const MILLION = 1_000_000

const listOf = (element: string, count = MILLION): string => {
  const most = Math.floor((DOCUMENT_BYTES_MAX - 100) / (element.length + 1))
  return `[${countTo(Math.min(count, most))
    .map(() => element)
    .join(',')}]`
}
const membersOf = (count: number, nameOf: (n: number) => string): string =>
  `{${countTo(count)
    .map((n) => `"${nameOf(n)}":1`)
    .join(',')}}`

const documents: Readonly<Record<string, () => string>> = {
  'a million texts': () => `{"a":${listOf('"sea"')}}`,
  'a million numbers': () => `{"a":${listOf('1')}}`,
  'a million empty objects': () => `{"a":${listOf('{}')}}`,
  'a million empty lists': () => `{"a":${listOf('[]')}}`,
  'a million objects': () => `{"a":${listOf('{"b":1}')}}`,
  'as many members as there may be': () => membersOf(MEMBERS_MAX, (n) => n.toString(36)),
  'as many members, which are numbers': () => `{"a":${membersOf(MEMBERS_MAX, String)}}`,
}
const templates = [
  '{{title}}',
  '{{this}}',
  '{{a}}',
  '{{#each this}}x{{/each}}',
  '{{#each a}}x{{/each}}',
  '{{texts this}}',
  '{{encodeToon this}}',
  '{{#if (eq a a)}}x{{/if}}',
]

describe('templates over large documents', function () {
  this.timeout(120_000)

  for (const [what, make] of Object.entries(documents)) {
    it(`take short steps through ${what}`, () => {
      const document = Buffer.from(make())
      const cache = new TemplateCache({ clock: new ManualClock() })

      for (const template of templates) {
        const read = buildSourceReader({ kind: 'template', template }, cache)
        const longestMs = longestStepAtBestMs(() => read(document), STEP_MS_MAX)

        expect(longestMs, template).to.be.below(STEP_MS_MAX)
      }
    })
  }
})

describe('an object that is parsed in parts', () => {
  it('has the members of one that is parsed at once, in its order', () => {
    const name = fc.oneof(
      fc.constantFrom('__proto__', 'constructor', '0', '01', '7', '4294967294', '4294967295', '-1'),
      fc.string(),
      fc.nat({ max: 99_999 }).map(String),
    )
    const many = countTo(5000).map((n) => [`m${n}`, n] as const)
    fc.assert(
      fc.property(fc.array(fc.tuple(name, fc.nat())), (members) => {
        const text = textOf([...members, ...many, ...members])

        const found = runAtOnce(parseInParts(Buffer.from(text)))

        const expected = parseExact(Buffer.from(text))
        expect(JSON.stringify(found)).to.equal(JSON.stringify(expected))
        expect(namesIn(found)).to.deep.equal(namesIn(expected))
      }),
      { numRuns: 50 },
    )
  })

  it('can leave a member out, however many there are', () => {
    for (const count of [1, 5000]) {
      const all = [...countTo(count).map((n) => [`m${n}`, n] as const), ['left', 1] as const]

      const found = runAtOnce(parseInPartsWithout(Buffer.from(textOf(all)), 'left'))

      expect(namesIn(found)).to.deep.equal(countTo(count).map((n) => `m${n}`))
    }
  })

  it('is refused by name with more members than 200,000', async () => {
    const text = Buffer.from(membersOf(MEMBERS_MAX + 1, String))

    const error = await errorOf(() => runAtOnce(parseInParts(text)))

    expect(error).to.have.property('code', 'INVALID_ARGUMENT')
    expect(error).to.have.property('message').that.includes('more than 200000 members')
  })
})

describe('a list that is parsed in parts', () => {
  it('is refused by name with more elements than a million, in short steps', async () => {
    const text = Buffer.from(listOf('1', 5 * MILLION))
    const fits = Buffer.from(listOf('1', MILLION))

    const error = await errorOf(() => runAtOnce(parseInParts(text)))

    expect(runAtOnce(parseInParts(fits))).to.have.length(MILLION)
    expect(error).to.have.property('code', 'INVALID_ARGUMENT')
    expect(error).to.have.property('message').that.includes('more than 1000000 elements')
    const longestMs = longestStepAtBestMs(() => parseInParts(text), LIST_STEP_MS_MAX)
    expect(longestMs).to.be.below(LIST_STEP_MS_MAX)
  })
})

function textOf(members: readonly (readonly [string, number])[]): string {
  return `{${members.map(([name, n]) => `${JSON.stringify(name)}:${n}`).join(',')}}`
}

function namesIn(value: JsonValue): readonly string[] | undefined {
  return isJsonObject(value) ? namesOf(value) : undefined
}
