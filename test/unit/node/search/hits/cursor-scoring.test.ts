import { deflateRawSync } from 'node:zlib'
import { expect } from 'chai'
import { decodeScoring, encodeScoring } from '../../../../../node/search/hits/cursor-scoring.ts'

const STATISTICS = {
  fields: new Map([['title', { docCount: 12, totalLength: 345 }]]),
  docFreqs: new Map([['title\0море', 3]]),
  expansions: new Map<string, readonly string[] | 'too-many'>([
    ['title\0^ se', ['sea', 'seal']],
    ['title\0^ a', 'too-many'],
  ]),
}
const packed = (value: unknown): string =>
  `1${deflateRawSync(JSON.stringify(value)).toString('base64url')}`

describe('what a cursor carries of scores', () => {
  it('comes back as it was', () => {
    const text = encodeScoring(STATISTICS) ?? ''

    expect(decodeScoring(text, 'search_after')).to.deep.equal(STATISTICS)
    const docFreqs = new Map(Array.from({ length: 100 }, (_, i) => [`title\0word${i}`, i]))
    const long = encodeScoring({ ...STATISTICS, docFreqs }) ?? ''
    expect(decodeScoring(long, 'search_after').docFreqs).to.deep.equal(docFreqs)
  })

  it('is left out when it is long', () => {
    const docFreqs = new Map(Array.from({ length: 5000 }, (_, i) => [`title\0word${i * 7919}`, i]))

    expect(encodeScoring({ ...STATISTICS, docFreqs })).to.equal(undefined)
  })

  const damaged = ['', 'x', packed({}), packed({ f: [['a', -1, 2]], d: [], e: [] }), packed({ f: [], d: [['a', 0.5]], e: [] }), packed({ f: [], d: [], e: [['a', [5]]] }), packed('0'.repeat(3_000_000))] // prettier-ignore
  for (const text of damaged) {
    it(`is refused when it is damaged: ${text.slice(0, 30)}`, () => {
      expect(() => decodeScoring(text, 'search_after')).to.throw('search_after: damaged')
    })
  }
})
