import { expect } from 'chai'
import * as fc from 'fast-check'
import {
  isRawNumber,
  numberOf,
  parseExact,
  parseExactInSteps,
  stringifyExact,
} from '../../../../node/document/exact-json.ts'
import {
  isJsonObject,
  memberOf,
  withMember,
  withoutMember,
} from '../../../../node/document/json-object.ts'
import { runAtOnce } from '../../../../lib/sliced.ts'
import { sameContent, sameValue } from '../../../../node/document/canonical-json.ts'
import {
  addNumbers,
  compareNumbers,
  isJsonNumber,
  multiplyNumbers,
} from '../../../../node/document/json-number.ts'

const same = (left: string, right: string) => sameContent(Buffer.from(left), Buffer.from(right))

describe('exact JSON', () => {
  it('keeps long numbers anywhere in a long text that is parsed in steps', () => {
    const number = '12345678901234567890'
    for (const length of [100, 262_130, 262_144, 262_150, 600_000]) {
      const json = `{"a":"${'x'.repeat(length)}","b":${number}}`

      const parsed = runAtOnce(parseExactInSteps(Buffer.from(json)))

      expect(stringifyExact(parsed), String(length)).to.equal(json)
    }
  })

  it('pauses in a long text, and refuses text that is not JSON', () => {
    const long = Buffer.from(`"${'x'.repeat(600_000)}"`)
    const broken = long.subarray(0, -1)

    expect([...parseExactInSteps(long)]).to.have.length(4)
    expect(() => runAtOnce(parseExactInSteps(broken))).to.throw('malformed JSON')
  })

  it('keeps every number that a double would change', () => {
    for (const number of [
      '9007199254740993',
      '-12345678901234567890',
      '0.1234567890123456789',
      '123456789.12345678901',
      '1234567890123456.7e-3',
    ]) {
      const value = parseExact(`{"a":[${number}]}`)
      expect(stringifyExact(value)).to.equal(`{"a":[${number}]}`)
    }
  })

  it('returns plain numbers where a double is exact', () => {
    expect(parseExact('[9007199254740991,0.1,1234567890123456]')).to.deep.equal([
      9007199254740991, 0.1, 1234567890123456,
    ])
    expect(parseExact('"12345678901234567890"')).to.equal('12345678901234567890')
  })

  it('keeps integers of any size', () => {
    fc.assert(
      fc.property(fc.bigInt({ min: -(10n ** 40n), max: 10n ** 40n }), (integer) => {
        const text = `{"x":${integer}}`
        expect(stringifyExact(parseExact(Buffer.from(text)))).to.equal(text)
      }),
    )
  })

  it('reads what JSON.parse reads', () => {
    fc.assert(
      fc.property(fc.json(), (text) => {
        expect(JSON.parse(stringifyExact(parseExact(text)))).to.deep.equal(
          JSON.parse(JSON.stringify(JSON.parse(text))),
        )
      }),
    )
  })

  it('does not mistake an object with a rawJSON member for a number', () => {
    const value = parseExact('{"rawJSON":"5"}')
    expect(isRawNumber(value)).to.equal(false)
    expect(isJsonObject(value)).to.equal(true)
    expect(isJsonObject(parseExact('12345678901234567890'))).to.equal(false)
    expect(numberOf(parseExact('12345678901234567890'))).to.equal(Number('12345678901234567890'))
    expect(numberOf('5')).to.equal(undefined)
  })

  it('treats __proto__ and constructor as data', () => {
    for (const big of ['1', '12345678901234567890']) {
      const text = `{"__proto__":{"polluted":${big}},"constructor":2}`
      const value = parseExact(text)
      expect(stringifyExact(value)).to.equal(text)
      if (!isJsonObject(value)) throw new Error('not an object')
      expect(memberOf(value, 'polluted')).to.equal(undefined)
      expect(stringifyExact(withMember(value, 'a', 3))).to.equal(`${text.slice(0, -1)},"a":3}`)
      expect(stringifyExact(withoutMember(value, 'constructor'))).to.equal(
        `{"__proto__":{"polluted":${big}}}`,
      )
    }
    expect(memberOf({}, 'constructor')).to.equal(undefined)
    expect(stringifyExact(withMember({}, '__proto__', { a: 1 }))).to.equal('{"__proto__":{"a":1}}')
    expect(Object.hasOwn(Object.prototype, 'polluted')).to.equal(false)
  })

  it('refuses malformed text', () => {
    expect(() => parseExact('{"a":'))
      .to.throw('malformed JSON')
      .with.property('code', 'INVALID_ARGUMENT')
  })
})

const numberFrom = (text: string) => {
  const number = parseExact(text)
  if (!isJsonNumber(number)) throw new Error(`not a number: ${text}`)
  return number
}

describe('JSON numbers', () => {
  it('calculates and compares integers like bigints', () => {
    const integer = fc.bigInt({ min: -(10n ** 20n), max: 10n ** 20n })
    fc.assert(
      fc.property(integer, integer, (left, right) => {
        const [a, b] = [numberFrom(String(left)), numberFrom(String(right))]
        expect(stringifyExact(addNumbers(a, b) ?? null)).to.equal(String(left + right))
        expect(stringifyExact(multiplyNumbers(a, b) ?? null)).to.equal(String(left * right))
        expect(Math.sign(compareNumbers(a, b))).to.equal(left < right ? -1 : left > right ? 1 : 0)
      }),
    )
  })

  it('is exact where a double prints as its source but is another integer', () => {
    const sum = addNumbers(0, numberFrom('-5229481911691745000'))
    expect(stringifyExact(sum ?? null)).to.equal('-5229481911691745000')
    expect(stringifyExact(addNumbers(1e20, 1) ?? null)).to.equal('100000000000000000001')
  })

  it('calculates fractions as doubles', () => {
    expect(addNumbers(0.1, 0.2)).to.equal(0.1 + 0.2)
    expect(multiplyNumbers(numberFrom('12345678901234567890'), 0.5)).to.equal(
      Number('12345678901234567890') / 2,
    )
    expect(
      compareNumbers(numberFrom('9007199254740993'), numberFrom('9007199254740992.5')),
    ).to.equal(1)
  })

  it('has no result beyond a double', () => {
    expect(addNumbers(1e308, 1e308)).to.equal(undefined)
    expect(multiplyNumbers(1e308, 1.5e10)).to.equal(undefined)
    expect(multiplyNumbers(1.5e308, 1.5)).to.equal(undefined)
  })
})

describe('sameContent', () => {
  const equal: [string, string][] = [
    ['{"a":1,"b":[{"c":1,"d":2}]}', '{"b":[{"d":2,"c":1}],"a":1}'],
    ['{"a":1,"_timestamp":"x"}', '{"a":1}'],
    ['{"a":1,"_timestamp":"x"}', '{"_timestamp":"y","a":1}'],
    ['{"a":1.0}', '{"a":1}'],
    ['{"a":100000000000000000000}', '{"a":1e20}'],
    ['{"a":"\\u0041"}', '{"a":"A"}'],
    ['{"a":12345678901234567890}', '{"a":12345678901234567890,"_timestamp":1}'],
  ]
  const different: [string, string][] = [
    ['{"a":1}', '{"a":2}'],
    ['{"a":1}', '{"a":"1"}'],
    ['{"a":null}', '{}'],
    ['{"a":null}', '{"b":null}'],
    ['{"a":[1,2]}', '{"a":[2,1]}'],
    ['{"a":[1]}', '{"a":[1,2]}'],
    ['{"a":{}}', '{"a":[]}'],
    ['{"a":9007199254740993}', '{"a":9007199254740992}'],
    ['{"a":0.12345678901234567891}', '{"a":0.12345678901234567892}'],
    ['{"a":{"_timestamp":1}}', '{"a":{}}'],
    ['{"constructor":1}', '{"x":1}'],
    ['{"__proto__":{}}', '{"x":{}}'],
  ]

  it('ignores the order of members, the spelling of numbers and _timestamp', () => {
    for (const [left, right] of equal) expect(same(left, right), `${left} ${right}`).to.equal(true)
  })

  it('sees every other difference', () => {
    for (const [left, right] of different) {
      expect(same(left, right), `${left} ${right}`).to.equal(false)
      expect(same(right, left), `${right} ${left}`).to.equal(false)
    }
  })

  it('agrees with deep equality', () => {
    fc.assert(
      fc.property(fc.jsonValue(), fc.jsonValue(), (left, right) => {
        const [a, b] = [JSON.stringify(left), JSON.stringify(right)]
        expect(sameValue(parseExact(a), parseExact(a))).to.equal(true)
        expect(sameValue(parseExact(a), parseExact(b))).to.equal(
          canonical(JSON.parse(a)) === canonical(JSON.parse(b)),
        )
      }),
    )
  })
})

function canonical(value: unknown): string {
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  if (Array.isArray(value)) return `[${value.map(canonical).join(',')}]`
  const members = Object.entries(value).map(
    ([name, inner]) => `${JSON.stringify(name)}:${canonical(inner)}`,
  )
  return `{${members.toSorted().join(',')}}`
}
