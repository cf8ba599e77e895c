import { inspect } from 'node:util'
import { deserialize, serialize } from 'node:v8'
import { expect } from 'chai'
import * as fc from 'fast-check'
import { runAtOnce } from '../../../../../../lib/sliced.ts'
import { readValue, writeValue } from '../../../../../../node/shard/remote/wire/value-codec.ts'
import { WireReader } from '../../../../../../node/shard/remote/wire/wire-reader.ts'
import { WireWriter } from '../../../../../../node/shard/remote/wire/wire-writer.ts'
import { errorOf } from '../../../../../support/error-of.ts'

function encoded(value: unknown): Buffer {
  const out = new WireWriter()
  runAtOnce(writeValue(out, value))
  return out.joined()
}

function decoded(bytes: Buffer): unknown {
  const from = new WireReader(bytes)
  const value = runAtOnce(readValue(from, 100_000))
  from.end()
  return value
}

const plain = fc.letrec((tie) => ({
  value: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    fc.anything({ maxDepth: 0, withBigInt: true, withTypedArray: true }),
    fc.double(),
    fc.integer(),
    fc.string({ unit: 'binary' }),
    fc.array(tie('value')),
    fc.dictionary(fc.string(), tie('value')),
    fc.array(fc.tuple(tie('value'), tie('value'))).map((entries) => new Map(entries)),
    fc.array(tie('value')).map((items) => new Set(items)),
  ),
})).value

describe('values between nodes', () => {
  it('arrive as a structured clone of them', () => {
    fc.assert(
      fc.property(plain, (value) => {
        const clone: unknown = deserialize(serialize(value))

        expect(decoded(encoded(value))).to.deep.equal(clone)
      }),
    )
  })

  for (const value of [
    -0,
    NaN,
    -Infinity,
    2 ** 31,
    -(2 ** 31),
    -1,
    2n ** 70n,
    -1n,
    'a\ud800b',
    { ['__proto__']: 1, constructor: 2 },
    [undefined, null],
    Buffer.from('abc'),
    Float64Array.of(NaN, -0, 1.5),
    new Map([[{ a: 1 }, new Set([1])]]),
  ]) {
    it(`arrive as they are: ${inspect(value)}`, () => {
      const arrived = decoded(encoded(value))

      expect(arrived).to.deep.equal(value)
      expect(Object.is(arrived, -0)).to.equal(Object.is(value, -0))
    })
  }

  it('are refused if they are cut short or changed, or mean another value', () => {
    fc.assert(
      fc.property(plain, fc.nat(), fc.nat(255), (value, at, byte) => {
        const bytes = encoded(value)
        bytes[at % bytes.length] = byte
        const cut = bytes.subarray(0, at % bytes.length)

        for (const hostile of [bytes, cut]) {
          try {
            decoded(hostile)
          } catch (error) {
            expect(error).to.have.property('code', 'CORRUPTION')
          }
        }
      }),
    )
  })

  it('are refused if they claim more than there is, or go too deep', async () => {
    const hostile = [
      Buffer.from([10, 0xff, 0xff, 0xff, 0xff]),
      Buffer.concat(Array.from({ length: 600 }, () => Buffer.from([10, 0, 0, 0, 1]))),
      Buffer.concat([Buffer.from([10, 0, 3, 0, 0]), Buffer.alloc(200_000)]),
    ]

    for (const bytes of hostile) {
      expect(await errorOf(async () => decoded(bytes))).to.have.property('code', 'CORRUPTION')
    }
  })

  it('must be plain data', async () => {
    for (const value of [() => 1, Symbol('a'), new Date(0), new WireWriter()]) {
      expect(String(await errorOf(async () => encoded(value)))).to.include('InvariantError')
    }
  })
})
