import { expect } from 'chai'
import { seededRandom } from '../../../../../../lib/random.ts'
import {
  BLOCK_LENGTH,
  packBlock,
  packedBytes,
  unpackBlock,
} from '../../../../../../node/index/encoding/bit-packing.ts'
import { unpackFast } from '../../../../../../node/index/text/postings/fast-unpack.ts'

const BITS_MAX = 31

describe('unpackFast', () => {
  for (let bits = 0; bits <= BITS_MAX; bits += 1) {
    it(`reads numbers of ${bits} bits as unpackBlock does, wherever the bytes end`, () => {
      const random = seededRandom(bits)
      const values = Uint32Array.from({ length: BLOCK_LENGTH }, () =>
        Math.floor(random() * 2 ** bits),
      )
      for (const [before, after] of [
        [0, 0],
        [3, 1],
        [1, 3],
        [2, 4],
        [5, 64],
      ] as const) {
        const bytes = new Uint8Array(before + packedBytes(bits) + after).fill(0xff)
        packBlock(values, bits, bytes, before)
        const [expected, found] = [new Uint32Array(BLOCK_LENGTH), new Uint32Array(BLOCK_LENGTH)]

        unpackBlock(bytes, before, bits, expected)
        unpackFast({ view: bytes, words: new DataView(bytes.buffer) }, before, bits, found)

        expect(found).to.deep.equal(expected)
        expect(found).to.deep.equal(values)
      }
    })
  }
})
