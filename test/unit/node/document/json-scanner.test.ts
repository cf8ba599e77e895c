import { expect } from 'chai'
import * as fc from 'fast-check'
import {
  DOCUMENT_DEPTH_MAX,
  JsonScanner,
  readString,
} from '../../../../node/document/json-scanner.ts'
import { runAtOnce } from '../../../../lib/sliced.ts'
import { compactJson } from '../../../../node/document/compact-json.ts'
import type { ValueShape } from '../../../../node/document/json-scanner.ts'

const scan = (text: string): ValueShape => {
  const scanner = new JsonScanner(Buffer.from(text))
  const shape = scanner.scanValue()
  scanner.expectEnd()
  return shape
}
const accepts = (text: string) => {
  try {
    scan(text)
    return true
  } catch {
    return false
  }
}
const parses = (text: string) => {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}
const compact = (text: string) => runAtOnce(compactJson(Buffer.from(text), scan(text))).toString()

const nested = (depth: number) => '['.repeat(depth) + ']'.repeat(depth)

describe('JsonScanner', () => {
  const refused: Record<string, string> = {
    '': 'at byte 0: expected a value, but the text ends',
    '{': "at byte 1: expected a member name or '}', but the text ends",
    '{"a" 1}': "at byte 5: expected ':'",
    '{"a":1 "b":2}': "at byte 7: expected ',' or '}'",
    '{"a":1,}': 'at byte 7: expected a member name',
    '{a:1}': "at byte 1: expected a member name or '}'",
    '[1,]': 'at byte 3: expected a value',
    '[1 2]': "at byte 3: expected ',' or ']'",
    '[1}': "at byte 2: expected ',' or ']'",
    '{"a":1]': "at byte 6: expected ',' or '}'",
    '01': 'at byte 1: expected the end of the text',
    '-': 'at byte 1: expected a digit',
    '1.': 'at byte 2: expected a digit',
    '1e+': 'at byte 3: expected a digit',
    '.5': 'at byte 0: expected a value',
    '+1': 'at byte 0: expected a value',
    tru: "at byte 0: expected 'true'",
    nulL: "at byte 0: expected 'null'",
    '"a': 'at byte 2: expected a closing quote',
    '"a\nb"': 'at byte 2: expected a closing quote (control characters must be escaped)',
    '"\\x"': 'at byte 2: expected one of',
    '"\\u12G4"': 'at byte 5: expected a hexadecimal digit',
    '{"\\u00zz":1}': 'at byte 6: expected a hexadecimal digit',
    '{"a\u0000":1}': 'expected a closing quote',
    '1 1': 'at byte 2: expected the end of the text',
    '\ufeff1': 'at byte 0: expected a value',
    '\u00a01': 'at byte 0: expected a value',
    '1e400': 'number at byte 0 is beyond the range of a double',
    '[-1e309]': 'number at byte 1 is beyond the range of a double',
    ['9'.repeat(310)]: 'number at byte 0 is beyond the range of a double',
  }
  for (const [text, message] of Object.entries(refused)) {
    it(`refuses ${JSON.stringify(text.slice(0, 20))} with place and reason`, () => {
      expect(() => scan(text))
        .to.throw(message)
        .with.property('code', 'INVALID_ARGUMENT')
    })
  }

  it('accepts exactly what JSON.parse accepts among valid texts', () => {
    fc.assert(
      fc.property(fc.json({ maxDepth: 6 }), fc.nat(4), (text, indent) => {
        const spaced = JSON.stringify(JSON.parse(text), null, indent)

        const shape = scan(spaced)

        expect(shape.end - shape.start).to.equal(Buffer.byteLength(spaced))
        expect(JSON.parse(compact(spaced))).to.deep.equal(JSON.parse(text))
        expect(compact(spaced)).to.equal(JSON.stringify(JSON.parse(text)))
      }),
      { numRuns: 500 },
    )
  })

  it('agrees with JSON.parse about texts broken by one edit', () => {
    const pieces = ['"', '\\', '{', '}', '[', ']', ',', ':', '-', '0', '1', '.', 'e', 'E', '+']
    const edit = fc.constantFrom(
      ...pieces,
      ' ',
      '\t',
      '\n',
      '\v',
      'true',
      'nul',
      '\u0001',
      '\\u00e',
      '',
    )
    fc.assert(
      fc.property(
        fc.json({ maxDepth: 4 }),
        fc.nat(),
        fc.nat(2),
        edit,
        (text, place, cut, piece) => {
          const at = place % (text.length + 1)
          const broken = text.slice(0, at) + piece + text.slice(at + cut)
          if (!broken.isWellFormed()) return
          fc.pre(!/\d[eE]\+?\d{3,}/.test(broken))

          expect(accepts(broken), broken).to.equal(parses(broken))
        },
      ),
      { numRuns: 5000 },
    )
  })

  it('agrees with JSON.parse about texts of random tokens', () => {
    const token = fc.constantFrom(
      '{',
      '}',
      '[',
      ']',
      ',',
      ':',
      '"a"',
      '"\\n"',
      '0',
      '-1',
      '2.5',
      '1e2',
      'true',
      'null',
      ' ',
    )
    fc.assert(
      fc.property(fc.array(token, { maxLength: 8 }), (tokens) => {
        const text = tokens.join('')
        fc.pre(!/e\d{3,}/.test(text))

        expect(accepts(text), text).to.equal(parses(text))
      }),
      { numRuns: 10_000 },
    )
  })

  it('counts depth and refuses more than the maximum', () => {
    expect(scan('1').depth).to.equal(0)
    expect(scan('{"a":[1],"b":[[]]}').depth).to.equal(3)
    expect(scan(nested(DOCUMENT_DEPTH_MAX)).depth).to.equal(DOCUMENT_DEPTH_MAX)
    expect(() => scan(nested(DOCUMENT_DEPTH_MAX + 1))).to.throw('nested deeper than 100 levels')
    expect(() => scan('{"a":'.repeat(200_000))).to.throw('nested deeper than 100 levels')
  })

  it('reports the kind of every value', () => {
    const kinds = ['{}', '[]', '""', '-1', 'true', 'false', 'null'].map((text) => scan(text).kind)
    expect(kinds).to.deep.equal(['object', 'array', 'string', 'number', 'true', 'false', 'null'])
  })

  it('notices white space inside but not around a value', () => {
    expect(scan(' {"a":" "} ').hasWhitespace).to.equal(false)
    for (const text of ['{ }', '{"a": 1}', '{"a" :1}', '[1 ]', '[1,\n2]', '{"a":1 ,"b":2}']) {
      expect(scan(text).hasWhitespace, text).to.equal(true)
    }
  })

  it('notices duplicate names, however they are escaped', () => {
    for (const text of ['{"a":1,"a":2}', '[{"b":{"a":1,"c":2,"a":3}}]', '{"a":1,"\\u0061":2}']) {
      expect(scan(text).hasDuplicates, text).to.equal(true)
    }
    expect(scan('{"é":1,"\\u00e9":2}').hasDuplicates).to.equal(true)
    expect(scan('{"\\"":1,"\\u0022":2}').hasDuplicates).to.equal(true)
  })

  it('does not mistake names of different objects for duplicates', () => {
    for (const text of [
      '[{"a":1},{"a":2}]',
      '{"a":{"a":{"a":1}},"b":{"a":1}}',
      '{"\\n":1,"n":2}',
    ]) {
      expect(scan(text).hasDuplicates, text).to.equal(false)
    }
  })

  it('finds a duplicate at any place in an object of many members', () => {
    fc.assert(
      fc.property(fc.integer({ min: 2, max: 90 }), fc.nat(), fc.nat(), (count, one, other) => {
        const names = Array.from({ length: count }, (_, index) => `n${index}`)
        const [from, to] = [one % count, other % count]
        names[to] = names[from]!

        const text = `{"before":{"n0":[]},${names.map((name) => `"${name}":{"n1":0}`).join(',')}}`

        expect(scan(text).hasDuplicates).to.equal(from !== to)
      }),
    )
  })

  it('walks an object of a million members in linear time', () => {
    const names = Array.from({ length: 1_000_000 }, (_, index) => `"${index}":0`)
    const text = `{${names.join(',')}}`
    expect(scan(text).end).to.equal(text.length)
    expect(scan(`{${names.join(',')},"77":1}`).hasDuplicates).to.equal(true)
  })

  it('walks through members for its caller', () => {
    const bytes = Buffer.from('{"a": 1, "b\\u0022": {"c": []}, "é": null}')
    const scanner = new JsonScanner(bytes)
    const members: [string, string][] = []

    scanner.enterObject()
    while (scanner.nextMember()) {
      const { nameStart, nameEnd, nameHasEscapes } = scanner
      const name = readString(bytes, nameStart, nameEnd, nameHasEscapes)
      const { start, end } = scanner.scanValue()
      members.push([name, bytes.toString('utf8', start, end)])
    }
    scanner.expectEnd()

    expect(members).to.deep.equal([
      ['a', '1'],
      ['b"', '{"c": []}'],
      ['é', 'null'],
    ])
  })

  it('lets its caller enter nested objects, also empty ones', () => {
    const scanner = new JsonScanner(Buffer.from('{"a":{},"b":{"c":1},"d":2}'))
    scanner.enterObject()
    expect(scanner.nextMember()).to.equal(true)
    scanner.enterObject()
    expect(scanner.nextMember()).to.equal(false)
    expect(scanner.nextMember()).to.equal(true)
    scanner.enterObject()
    expect(scanner.nextMember()).to.equal(true)
    scanner.scanValue()
    expect(scanner.nextMember()).to.equal(false)
    expect(scanner.nextMember()).to.equal(true)
    scanner.scanValue()
    expect(scanner.nextMember()).to.equal(false)
    scanner.expectEnd()
  })

  it('refuses a broken object between its members', () => {
    for (const text of ['{"a":1 "b":2}', '{"a":1,}', '{,"a":1}', '{"a":1', '["a"]']) {
      const walk = () => {
        const scanner = new JsonScanner(Buffer.from(text))
        scanner.enterObject()
        while (scanner.nextMember()) scanner.scanValue()
      }
      expect(walk, text).to.throw('malformed JSON')
    }
  })
})

describe('compactJson', () => {
  it('returns the same bytes for compact text', () => {
    const bytes = Buffer.from('  {"a":[1.0,"x y\\" z"],"b":12345678901234567890}  ')
    const scanner = new JsonScanner(bytes)

    const json = runAtOnce(compactJson(bytes, scanner.scanValue()))

    expect(json.buffer).to.equal(bytes.buffer)
    expect(json.toString()).to.equal(bytes.toString().trim())
  })

  it('strips white space outside of strings only', () => {
    expect(compact('{ "a b" :\t[ 1.0 ,\r\n"x \\" \\\\" , " y" ] }')).to.equal(
      '{"a b":[1.0,"x \\" \\\\"," y"]}',
    )
  })

  it('keeps the last of duplicate members and every digit', () => {
    expect(compact('{"a":1,"b":12345678901234567890,"a":{"c":1,"\\u0063":2}}')).to.equal(
      '{"a":{"c":2},"b":12345678901234567890}',
    )
    expect(compact('{"__proto__":1,"__proto__":{"x":1}}')).to.equal('{"__proto__":{"x":1}}')
  })
})
