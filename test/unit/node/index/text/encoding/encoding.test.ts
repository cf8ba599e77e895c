import { expect } from 'chai'
import { array, assert, maxSafeNat, property } from 'fast-check'
import {
  bitsOf,
  packBlock,
  packedBytes,
  unpackBlock,
} from '../../../../../../node/index/encoding/bit-packing.ts'
import {
  ByteBuffer,
  ByteBufferReader,
} from '../../../../../../node/index/text/encoding/byte-buffer.ts'
import {
  byteOfLength,
  lengthOfByte,
} from '../../../../../../node/index/text/encoding/small-float.ts'

describe('bit packing', () => {
  it('gives back the packed numbers, for every number of bits', () => {
    for (let bits = 0; bits <= 31; bits += 1) {
      const most = 2 ** bits - 1
      const values = Uint32Array.from({ length: 128 }, (_, i) => (i * 2_654_435_761) % (most + 1))
      values[77] = most
      const out = new Uint8Array(3 + packedBytes(bits))
      const read = new Uint32Array(128)

      packBlock(values, bits, out, 3)
      unpackBlock(out, 3, bits, read)

      expect(bitsOf(values), `${bits} bits`).to.equal(bits)
      expect([...read], `${bits} bits`).to.deep.equal([...values])
    }
  })
})

describe('varints', () => {
  it('hold whole numbers up to 2^53', () => {
    assert(
      property(array(maxSafeNat()), (values) => {
        const out = new ByteBuffer()
        for (const value of values) out.writeVarint(value)
        const reader = new ByteBufferReader(out.view())
        expect(values.map(() => reader.varint())).to.deep.equal(values)
      }),
    )
  })
})

describe('the codec of field lengths', () => {
  // Values of Lucene's SmallFloat.intToByte4, worked by hand from its definition.
  const cases: readonly (readonly [number, number])[] = [
    [0, 0],
    [1, 1],
    [23, 23],
    [24, 24],
    [39, 39],
    [40, 40],
    [41, 40],
    [42, 41],
    [100, 57],
  ]
  for (const [length, byte] of cases) {
    it(`writes ${length} as ${byte}`, () => {
      expect(byteOfLength(length)).to.equal(byte)
    })
  }

  it('keeps the order and never reads back more than was written', () => {
    for (let length = 1; length < 100_000; length += 1) {
      const byte = byteOfLength(length)
      expect(byte).to.be.at.least(byteOfLength(length - 1))
      expect(lengthOfByte(byte)).to.be.at.most(length)
      expect(lengthOfByte(byte)).to.be.above(length * 0.875 - 3)
    }
  })

  it('has a byte for every length', () => {
    expect(byteOfLength(0x7fffffff)).to.equal(255)
  })
})
