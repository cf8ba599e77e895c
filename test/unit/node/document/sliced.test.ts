import { expect } from 'chai'
import * as fc from 'fast-check'
import { runAtOnce } from '../../../../lib/sliced.ts'
import { readTableWrites } from '../../../../node/document/batch-body.ts'
import { sameValue } from '../../../../node/document/canonical-json.ts'
import { digestOf } from '../../../../node/document/canonical-digest.ts'
import { compactJson } from '../../../../node/document/compact-json.ts'
import {
  DOCUMENT_BYTES_MAX,
  checkDocumentLimits,
} from '../../../../node/document/document-limits.ts'
import { parseExact } from '../../../../node/document/exact-json.ts'
import { HashSet } from '../../../../node/document/hash-set.ts'
import { JsonScanner, MEMBER_NAME_BYTES_MAX } from '../../../../node/document/json-scanner.ts'
import { sortSliced } from '../../../../node/document/sliced-sort.ts'
import { walk } from '../../../support/slices/sliced-steps.ts'

const MEBIBYTE = 1024 * 1024
const compact = (text: string): string => {
  const bytes = Buffer.from(text)
  return runAtOnce(compactJson(bytes, new JsonScanner(bytes).scanValue())).toString()
}
const digest = (text: string): string => runAtOnce(digestOf(Buffer.from(text)))

/** Members of two names in turn, longer together than any step. */
const repeated = (count: number): string =>
  `{${Array.from({ length: count }, (_, index) => `"m${index % (count / 2)}": ${index}`).join(',')}}`

/** What takes the most steps or the longest ones for its size. */
const largest: Record<string, Buffer> = {
  'a long string': Buffer.from(`{"a":"${'x'.repeat(DOCUMENT_BYTES_MAX - 10)}"}`),
  'a long string of escapes': Buffer.from(`{"a":"${'\\n'.repeat(DOCUMENT_BYTES_MAX / 2 - 10)}"}`),
  'many elements': Buffer.from(`{"a":[${'1,'.repeat(DOCUMENT_BYTES_MAX / 2 - 10)}1]}`),
  'many members': Buffer.from(
    `{${Array.from({ length: 600_000 }, (_, index) => `"${index.toString(36)}":1`).join(',')}}`,
  ),
  'many small objects': Buffer.from(`{"a":[${'{"a":{}},'.repeat(1_000_000)}1]}`),
}

describe('a scan in steps', () => {
  it('gives the same result as a scan at once, however short the steps', () => {
    fc.assert(
      fc.property(fc.json({ maxDepth: 5 }), fc.integer({ min: 1, max: 20 }), (text, bytes) => {
        const bySteps = new JsonScanner(Buffer.from(text))
        bySteps.beginValue()
        while (!bySteps.scanSome(bytes));

        expect(bySteps.shape).to.deep.equal(new JsonScanner(Buffer.from(text)).scanValue())
      }),
    )
  })

  it('refuses the same texts as a scan at once, at the same place', () => {
    fc.assert(
      fc.property(
        fc.json(),
        fc.nat(),
        fc.constantFrom('', '"', ']', '\u0001', ','),
        (text, at, bad) => {
          const place = at % (text.length + 1)
          const bytes = Buffer.from(text.slice(0, place) + bad + text.slice(place + 1))

          const [whole, steps] = [Infinity, 3].map((step) => {
            const scanner = new JsonScanner(bytes)
            try {
              scanner.beginValue()
              while (!scanner.scanSome(step));
              return 'accepted'
            } catch (error) {
              return String(error)
            }
          })

          expect(steps).to.equal(whole)
        },
      ),
    )
  })

  for (const [name, document] of Object.entries(largest)) {
    it(`pauses often in ${name}`, () => {
      const { pauses } = walk(checkDocumentLimits(document))

      expect(pauses).to.be.at.least(document.length / MEBIBYTE)
    })
  }

  it('refuses a member name or a number longer than a step', () => {
    const name = `{"${'x'.repeat(MEMBER_NAME_BYTES_MAX + 1)}":1}`
    const escaped = `{"\\n${'x'.repeat(MEMBER_NAME_BYTES_MAX)}":1}`
    const number = `[0.${'1'.repeat(100_000)}]`

    expect(() => compact(name)).to.throw('has more than 65536 bytes')
    expect(() => compact(escaped)).to.throw('has more than 65536 bytes')
    expect(() => compact(number)).to.throw('expected at most 65536 digits')
  })

  it('names the field in which it met an error', () => {
    expect(() => compact('{"a":[1,{"b c":tru}]}')).to.throw(
      `malformed JSON at byte 15: expected 'true', in field "a[1].b c"`,
    )
    expect(() => compact('{"a":{"b":1,}}')).to.throw('expected a member name, in field "a"')
    expect(() => compact('{"a":1,"n":[0,1e999]}')).to.throw('in field "n[1]"')
    expect(() => compact('tru')).to.throw(/expected 'true', but the text ends$|expected 'true'$/)
  })
})

describe('compactJson of large documents', () => {
  it('keeps the last of several members of one name', () => {
    const text = repeated(20_000)

    const { result, pauses } = walk(
      compactJson(Buffer.from(text), new JsonScanner(Buffer.from(text)).scanValue()),
    )

    expect(pauses).to.be.at.least(10)
    expect(JSON.parse(String(result))).to.deep.equal(JSON.parse(text))
    expect(String(result).split('"m5":').length, 'once each').to.equal(2)
  })

  it('keeps the place of the first, also in nested objects and arrays', () => {
    const filler = `"f":"${'x'.repeat(40_000)}"`
    const text = `{"a":[{"b":1,${filler},"c":2,"b":{"d":1,"d":3}},1],"z":0}`

    expect(compact(text)).to.equal(`{"a":[{"b":{"d":3},${filler},"c":2},1],"z":0}`)
  })
})

describe('digestOf', () => {
  const pairs = fc.tuple(fc.jsonValue({ maxDepth: 3 }), fc.jsonValue({ maxDepth: 3 }))

  it('is the same for texts of the same meaning, and only for those', () => {
    fc.assert(
      fc.property(pairs, ([left, right]) => {
        const [one, other] = [JSON.stringify(left), JSON.stringify(right)]

        expect(digest(one) === digest(other)).to.equal(
          sameValue(parseExact(one), parseExact(other)),
        )
      }),
    )
  })

  it('treats long texts as it treats short ones', () => {
    fc.assert(
      fc.property(
        fc.jsonValue({ maxDepth: 3 }),
        fc.constantFrom('ä', '\\u00e4', '\\n'),
        (value, character) => {
          const filler = JSON.parse(`"${character.repeat(3000)}"`)
          const reversed = Object.entries({ value, filler, n: 1e21 }).toReversed()
          const spelled = `{"value":${JSON.stringify(value)},"filler":"${character.repeat(3000)}","n":1000000000000000000000}`

          expect(digest(JSON.stringify(Object.fromEntries(reversed)))).to.equal(digest(spelled))
          expect(digest(JSON.stringify([filler, value]))).to.equal(
            digest(`["${character.repeat(3000)}",${JSON.stringify(value)}]`),
          )
          expect(digest(JSON.stringify([filler, value, 1]))).not.to.equal(
            digest(JSON.stringify([filler, value])),
          )
        },
      ),
    )
  })

  const equal: [string, string][] = [
    ['1', '1.0'],
    ['1e2', '100'],
    ['0', '-0'],
    ['1e21', '1000000000000000000000'],
    ['12345678901234567890', '12345678901234567890'],
    ['"\\u0061"', '"a"'],
    ['{"a":1,"b":2}', '{"b":2,"a":1}'],
  ]
  for (const [left, right] of equal) {
    it(`is the same for ${left} and ${right}`, () => {
      expect(digest(left)).to.equal(digest(right))
    })
  }
})

const batch = (keys: number, operations: number): Buffer =>
  Buffer.from(
    JSON.stringify({
      deletes: Array.from({ length: keys }, String),
      transforms: [
        {
          key: 'k',
          operations: Array.from({ length: operations }, () => ({ op: '$unset', path: 'a' })),
        },
      ],
    }),
  )

const many = (count: number): Buffer => {
  const inserts = Array.from({ length: count }, (_, index) => `"${index.toString(36)}":{}`)
  return Buffer.from(`{"inserts":{${inserts.join(',')}}}`)
}

describe('readTableWrites', () => {
  it('pauses in a body of many tiny documents (p04)', () => {
    const { result, pauses } = walk(readTableWrites('t', many(100_000)))

    expect(result.writes.inserts.length).to.equal(100_000)
    expect(pauses).to.be.at.least(100)
  })

  it('stops at the limit of operations, before it reads the rest (p04)', () => {
    const limits = { operationsMax: 1000 }
    const read = () => walk(readTableWrites('t', many(100_000), limits))

    expect(walk(readTableWrites('t', many(1000), limits)).result.writes.inserts.length).to.equal(
      1000,
    )
    expect(read).to.throw('the request has more than 1000 documents, keys and operations')
  })

  it('counts keys to delete and the operations of transforms as well', () => {
    const limits = { operationsMax: 10 }

    expect(walk(readTableWrites('t', batch(4, 6), limits)).result.writes.deletes.length).to.equal(4)
    expect(() => walk(readTableWrites('t', batch(5, 6), limits))).to.throw('more than 10 documents')
  })

  it('refuses an operation on the whole document', () => {
    const body = '{"transforms":[{"key":"k","operations":[{"op":"$set","path":"$","value":{}}]}]}'

    expect(() => walk(readTableWrites('t', Buffer.from(body)))).to.throw(
      'transforms[0].operations[0].path: "$" is the whole document',
    )
  })
})

describe('HashSet', () => {
  it('finds each hash that was added', () => {
    const set = new HashSet()
    const hashes = Array.from({ length: 50_000 }, (_, index) => Math.imul(index, 0x9e3779b1) | 0)

    const wereNew = hashes.filter((hash) => set.add(hash)).length

    expect(wereNew).to.equal(50_000)
    expect(hashes.every((hash) => set.has(hash))).to.equal(true)
    expect(hashes.filter((hash) => set.add(hash))).to.deep.equal([])
    expect([1, 2, 3, 4, 5].filter((hash) => set.has(hash + 7_000_001)).length).to.be.below(5)
  })
})

const byRank = (left: { rank: number }, right: { rank: number }) => left.rank - right.rank

describe('sortSliced', () => {
  it('sorts as the engine does, in steps', () => {
    fc.assert(
      fc.property(fc.infiniteStream(fc.nat(500)), fc.nat(5000), (stream, length) => {
        const items = [...stream.take(length)].map((rank, index) => ({ rank, index }))

        const { result } = walk(sortSliced(items, byRank))

        expect(result).to.deep.equal(items.toSorted(byRank))
      }),
      { numRuns: 20 },
    )
  })
})
