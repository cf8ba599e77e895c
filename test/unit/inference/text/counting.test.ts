import { expect } from 'chai'
import * as fc from 'fast-check'
import { countTokens } from '../../../../inference/text/token-counter.ts'
import { buildTokenWindows } from '../../../../inference/text/token-windows.ts'
import { splitWords } from '../../../../inference/text/word-splitter.ts'

describe('word splitter', () => {
  it('keeps inner hyphens and underscores and cuts at every other mark', () => {
    const words = splitWords('state-of-the-art foo_bar, C++ v1.0!').map(({ text }) => text)

    expect(words).to.deep.equal(
      'state-of-the-art | foo_bar | , | C | + | + | v1 | . | 0 | !'.split(' | '),
    )
  })

  it('tells where words stand', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (text) => {
        for (const word of splitWords(text)) {
          expect(text.slice(word.start, word.end)).to.equal(word.text)
        }
      }),
    )
  })
})

describe('token counter', () => {
  const cases: Record<string, number> = {
    '': 0,
    '   \n': 0,
    'one two three': 3,
    international: 3,
    'hello, world.': 4,
    你好世界: 4,
    'C++': 3,
    naïve: 1,
    ガ: 1,
  }
  for (const [text, expected] of Object.entries(cases)) {
    it(`counts ${expected} in ${JSON.stringify(text)}`, () => {
      expect(countTokens(text)).to.equal(expected)
    })
  }
})

describe('token windows', () => {
  it('own every token once, and include some tokens around their own', () => {
    fc.assert(
      fc.property(fc.nat(500), fc.integer({ min: 1, max: 64 }), (count, room) => {
        const windows = buildTokenWindows(count, room)
        let owned = 0
        for (const { start, end, ownedStart, ownedEnd } of windows) {
          expect(end - start).to.be.at.most(room)
          expect(ownedStart).to.equal(owned)
          expect(start).to.be.at.most(ownedStart)
          expect(end).to.be.at.least(ownedEnd)
          owned = ownedEnd
        }
        expect(owned).to.equal(count)
      }),
    )
  })

  it('overlap by a quarter and give each token to the window where it is farther from the edge', () => {
    const windows = buildTokenWindows(20, 8)

    expect(windows.map(({ start, end }) => [start, end])).to.deep.equal([
      [0, 8],
      [6, 14],
      [12, 20],
    ])
    expect(windows.map(({ ownedStart, ownedEnd }) => [ownedStart, ownedEnd])).to.deep.equal([
      [0, 7],
      [7, 13],
      [13, 20],
    ])
  })
})
