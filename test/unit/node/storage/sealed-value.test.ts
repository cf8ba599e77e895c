import { readFileSync } from 'node:fs'
import { expect } from 'chai'
import { sealValue, unsealValue } from '../../../../node/storage/sealed-value.ts'

interface Golden {
  readonly key: string
  readonly value: string
  readonly sealed: string
}

const GOLDEN: Record<string, Golden> = JSON.parse(
  readFileSync('test/golden/sealed-values.json', 'utf8'),
)

const KEY = Buffer.from('\u0003tides/1')
const VALUE = Buffer.from('{"title":"Tides"}')

function withBitFlipped(bytes: Buffer, bit: number): Buffer {
  const flipped = Buffer.from(bytes)
  flipped[bit >> 3] = (flipped[bit >> 3] ?? 0) ^ (1 << (bit & 7))
  return flipped
}

describe('a sealed value', () => {
  for (const [name, { key, value, sealed }] of Object.entries(GOLDEN)) {
    it(`has its golden bytes: ${name}`, () => {
      const [keyBytes, bytes] = [Buffer.from(key, 'hex'), Buffer.from(sealed, 'hex')]

      expect(sealValue(keyBytes, Buffer.from(value, 'hex'))).to.deep.equal(bytes)
      expect(unsealValue(keyBytes, bytes)).to.deep.equal(Buffer.from(value, 'hex'))
    })
  }

  it('is damaged with any bit of its checksum or its content flipped', () => {
    const sealed = sealValue(KEY, VALUE)

    for (let bit = 8; bit < 8 * sealed.length; bit++) {
      expect(unsealValue(KEY, withBitFlipped(sealed, bit)), `bit ${bit}`).to.equal(undefined)
    }
  })

  it('is damaged, or begins with a byte that no value had, with any bit of its mark flipped', () => {
    const sealed = sealValue(KEY, VALUE)
    // Format numbers, digits, and the brace of JSON.
    const known = new Set([0, 1, 2, ...Buffer.from('0123456789{')])

    for (let bit = 0; bit < 8; bit++) {
      const bare = unsealValue(KEY, withBitFlipped(sealed, bit))
      expect(bare === undefined || !known.has(bare[0] ?? 0), `bit ${bit}`).to.equal(true)
    }
  })

  it('is damaged under a key with any bit flipped', () => {
    const sealed = sealValue(KEY, VALUE)

    for (let bit = 0; bit < 8 * KEY.length; bit++) {
      expect(unsealValue(withBitFlipped(KEY, bit), sealed), `bit ${bit}`).to.equal(undefined)
    }
  })

  it('is damaged when it is cut short anywhere behind its mark', () => {
    const sealed = sealValue(KEY, VALUE)

    for (let bytes = 1; bytes < sealed.length; bytes++) {
      expect(unsealValue(KEY, sealed.subarray(0, bytes)), `${bytes} bytes`).to.equal(undefined)
    }
  })

  it('may be bare, as earlier programs wrote it', () => {
    const bare = ['', '{"a":1}', '7', '\u0001x', '\u0000\u0000'].map((text) => Buffer.from(text))

    expect(bare.map((value) => unsealValue(KEY, value))).to.deep.equal(bare)
  })
})
