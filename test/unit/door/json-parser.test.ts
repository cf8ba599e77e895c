import { expect } from 'chai'
import * as fc from 'fast-check'
import { VALUES_MAX, parseJsonInSteps } from '../../../door/json-parser.ts'
import { runAtOnce } from '../../../lib/sliced.ts'
import { longestStepAtBestMs } from '../../support/slices/step-time.ts'

const IN_STEPS = { valuesMax: VALUES_MAX, atOnceBytesMax: 0 }
const MIB = 2 ** 20

function parse(json: string): unknown {
  return runAtOnce(parseJsonInSteps(Buffer.from(json), IN_STEPS))
}

/** What both parsers make of a text: the value written again, or that it is refused. */
function outcomesOf(json: string): readonly [string, string] {
  const outcome = (read: (text: string) => unknown): string => {
    try {
      return JSON.stringify(read(json))
    } catch {
      return 'refused'
    }
  }
  return [outcome(parse), outcome((text) => JSON.parse(text))]
}

describe('the parser of JSON in steps', () => {
  it('reads what JSON.parse reads', () => {
    fc.assert(
      fc.property(fc.jsonValue(), fc.constantFrom(0, 1, 2), (value, indent) => {
        const text = JSON.stringify(value, undefined, indent)

        expect(JSON.stringify(parse(text))).to.equal(JSON.stringify(JSON.parse(text)))
      }),
      { numRuns: 500 },
    )
  })

  it('refuses what JSON.parse refuses', () => {
    const texts = fc.array(
      fc.constantFrom(
        '[',
        ']',
        '{',
        '}',
        ',',
        ':',
        '"',
        '"a"',
        '\\',
        '\\u00',
        ' ',
        '\n',
        '1',
        '-',
        '1e9',
        'true',
        'nul',
        '"__proto__"',
        '\t',
        '\u0000',
        'é',
        '01',
        '.5',
        '"\\q"',
        '"\\ud83d"',
      ),
      { maxLength: 12 },
    )
    fc.assert(
      fc.property(texts, (parts) => {
        const [own, reference] = outcomesOf(parts.join(''))

        expect(own).to.equal(reference)
      }),
      { numRuns: 3000 },
    )
  })

  it('cuts long strings outside of characters and escapes', () => {
    const alphabet = ['a', '\\n', '\\\\', '\\"', '\\u00e9', '\\ud83d\\ude00', 'é', '漢', '😀']
    fc.assert(
      fc.property(
        fc.array(fc.constantFrom(...alphabet), { minLength: 1, maxLength: 12 }),
        (unit) => {
          const json = `["${unit.join('').repeat(20_000)}"]`

          expect(parse(json)).to.deep.equal(JSON.parse(json))
        },
      ),
      { numRuns: 20 },
    )
  })

  it('keeps a member that is called __proto__ from becoming the prototype', () => {
    const parsed = parse('{"__proto__":{"a":1}}')

    expect(Object.keys(parsed ?? {})).to.deep.equal(['__proto__'])
    expect(parsed).to.not.have.property('a')
  })

  it('parses values of any depth', () => {
    const [own, reference] = [parse, JSON.parse].map((read) =>
      read('['.repeat(50_000) + ']'.repeat(50_000)),
    )

    expect(Array.isArray(own)).to.equal(Array.isArray(reference))
  })

  it('refuses a body of too many values before they are made', () => {
    const limits = { valuesMax: 4, atOnceBytesMax: 1000 }
    const read = (json: string) => runAtOnce(parseJsonInSteps(Buffer.from(json), limits))

    expect(read('[1,2,3]')).to.deep.equal([1, 2, 3])
    expect(read('{"a":1,"b":[1]}')).to.deep.equal({ a: 1, b: [1] })
    expect(read('[",,,,,,"]')).to.deep.equal([',,,,,,'])
    for (const json of ['[1,2,3,4]', '{"a":1,"b":[1,2]}', '[[[[[]]]]]']) {
      expect(() => read(json)).to.throw('more than 4 values')
    }
  })

  it('refuses an object of too many members', () => {
    const members = Array.from({ length: 16_385 }, (_, at) => `"k${at}":1`)

    expect(Object.keys(parse(`{${members.slice(1).join(',')}}`) ?? {})).to.have.length(16_384)
    expect(() => parse(`{${members.join(',')}}`)).to.throw('more than 16384 members')
  })

  it('never works for long between two pauses, whatever the body', () => {
    const bodies: Readonly<Record<string, string>> = {
      letters: `"${'x'.repeat(8 * MIB)}"`,
      escapes: `"${'\\n'.repeat(4 * MIB)}"`,
      quotes: `"${'\\"'.repeat(4 * MIB)}"`,
      backslashes: `"${'\\\\'.repeat(4 * MIB)}"`,
      ideographs: `"${'漢'.repeat(2 * MIB)}"`,
      space: `${' '.repeat(8 * MIB)}1`,
      values: `[${'{},'.repeat(VALUES_MAX - 2)}1]`,
      keys: `{${Array.from({ length: VALUES_MAX - 2 }, (_, at) => `"k${at}":1`).join(',')}}`,
      endless: `"${'x'.repeat(8 * MIB)}`,
    }
    for (const [name, body] of Object.entries(bodies)) {
      const bytes = Buffer.from(body)
      const longestMs = longestStepAtBestMs(() => parseJsonInSteps(bytes), 20)

      expect(longestMs, name).to.be.lessThan(20)
    }
  })
})
