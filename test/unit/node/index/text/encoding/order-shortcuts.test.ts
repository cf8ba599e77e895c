// The order of texts is that of the bytes of their UTF-8. Whatever sorts texts, or halves a list of them,
// is in text-orders.ts: a shortcut for an order is an order. test/tidy/order-shortcuts.test.ts finds new ones.
// Defects planted in the code itself are in test/integration/order-defects.test.ts.

import { expect } from 'chai'
import { compareTexts } from '../../../../../../node/index/text/encoding/compare-texts.ts'
import { compareUtf8 } from '../../../../../support/loads/script-texts.ts'
import {
  misorderOf,
  TEXT_ORDERS,
  writeDictionary,
  type Sorter,
} from '../../../../../support/loads/text-orders.ts'
import { parseTestSettings } from '../../../../../support/worlds/test-settings.ts'

const { seed } = parseTestSettings(process.env)

describe(`order shortcuts are orders (QUARRY_TEST_SEED=${seed})`, () => {
  for (const [name, wrongOf] of Object.entries(TEXT_ORDERS)) {
    it(name, () => {
      expect(wrongOf(seed)).to.equal(undefined)
    })
  }
})

const byComparing =
  (compare: (left: string, right: string) => number): Sorter =>
  (texts) =>
    texts.toSorted(compare)

/** What has gone wrong with such orders, or may. */
const DEFECTS: Readonly<Record<string, Sorter>> = {
  'a prefix that saturates, and goes on behind it': byComparing(
    (a, b) => saturated(a) - saturated(b) || compareTexts(a, b),
  ),
  'units in place of characters': byComparing((a, b) => (a < b ? -1 : Number(a > b))),
  'a comparison that ignores the tail': byComparing((a, b) =>
    compareTexts(a.slice(0, 12), b.slice(0, 12)),
  ),
  'a pair of neighbours that is swapped': (texts) => {
    const sorted = texts.toSorted(compareUtf8)
    const [first = '', second = '', ...rest] = sorted
    return sorted.length < 2 ? sorted : [second, first, ...rest]
  },
  'the order of a language': byComparing((a, b) => a.localeCompare(b) || compareTexts(a, b)),
  'the order of lower case': byComparing(
    (a, b) => compareTexts(a.toLowerCase(), b.toLowerCase()) || compareTexts(a, b),
  ),
  'a text that is left out': (texts) => texts.toSorted(compareUtf8).slice(1),
  'signed bytes': byComparing((a, b) => compareUtf8(signed(a), signed(b))),
}

function saturated(text: string): number {
  let number = 0
  for (let i = 0; i < 5; i += 1) {
    number = number * 128 + (i < text.length ? Math.min(text.charCodeAt(i) + 1, 127) : 0)
  }
  return number
}

/** Bytes from 0x80 on come first. */
function signed(text: string): string {
  return Array.from(Buffer.from(text), (byte) => String.fromCodePoint((byte + 128) % 256)).join('')
}

describe('the test of orders', () => {
  for (const [name, sorter] of Object.entries(DEFECTS)) {
    it(`catches ${name}`, () => {
      expect(misorderOf(sorter, seed)).to.be.a('string')
    })
  }
})

describe('the writer of a dictionary', () => {
  const wrong: readonly (readonly string[])[] = [
    ['b', 'a'],
    ['a', 'a'],
    ['ab', 'a'],
    ['中国', '京'].toReversed(),
    ['\u{1f600}', '\uffff'],
    [...Array.from({ length: 32 }, (_, i) => `k${String(i).padStart(2, '0')}`), 'k'],
  ]
  for (const texts of wrong) {
    it(`refuses ${JSON.stringify(texts.slice(-2))}`, () => {
      expect(() => writeDictionary(texts)).to.throw('the texts of a dictionary ascend')
    })
  }
})
