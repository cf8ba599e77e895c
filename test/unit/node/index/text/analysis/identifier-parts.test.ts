import { expect } from 'chai'
import * as fc from 'fast-check'
import { must } from '../../../../../../lib/assert.ts'
import { analyzerOf } from '../../../../../../node/index/text/analysis/analyzers.ts'
import {
  isCompound,
  piecesOf,
  withParts,
} from '../../../../../../node/index/text/analysis/identifier-parts.ts'
import { walk } from '../../../../../support/slices/sliced-steps.ts'
import { longestStepAtBestMs } from '../../../../../support/slices/step-time.ts'

/** What is put together, as Unicode says it: the definition, which the look at single units must not differ from. */
const COMPOUND = /[\p{L}\p{N}][._][\p{L}\p{N}]|\p{Ll}\p{Lu}/u
const UNITS = Array.from('aBzZ09._- жЖёßΣσ京ケก한֑😀𐐀𐐨𝒜\u0301\u200d')
const STEP_MS_MAX = 9
const LENGTH = 2_000_000

describe('words that are put together', () => {
  it('are those of the definition, in every script', () => {
    const word = fc.oneof(
      fc.string({ unit: fc.constantFrom(...UNITS), maxLength: 8 }),
      fc.string({ unit: 'grapheme', maxLength: 12 }),
    )

    fc.assert(
      fc.property(word, (text) => {
        expect(isCompound(text)).to.equal(COMPOUND.test(text))
      }),
      { numRuns: 20_000 },
    )
  })

  const pieces: Readonly<Record<string, readonly string[]>> = {
    'java.lang.NullPointerException': ['java', 'lang', 'NullPointerException'],
    getUserName: ['get', 'User', 'Name'],
    snake_case: ['snake', 'case'],
    'ключПользователя.новый': ['ключПользователя', 'новый'],
    plain: [],
    '1.2.3': ['1', '2', '3'],
  }
  for (const [word, expected] of Object.entries(pieces)) {
    it(`have the pieces [${expected.join(', ')}]: ${word}`, () => {
      expect(piecesOf(word)).to.deep.equal(expected)
    })
  }

  for (const piece of ['end.Then ', 'ключПользователя ', 'x_'.repeat(120), 'word ', 'слово ']) {
    it(`are found in short steps in a long text of ${JSON.stringify(piece.slice(0, 20))}`, () => {
      const analyzer = withParts(must(analyzerOf('standard'), 'an analyzer'))
      const text = piece.repeat(Math.ceil(LENGTH / piece.length))

      const begin = () => analyzer.analyzeInSteps(text, () => undefined)

      expect(walk(begin()).pauses).to.be.above(99)
      expect(longestStepAtBestMs(begin, STEP_MS_MAX)).to.be.below(STEP_MS_MAX)
    }).timeout(60_000)
  }
})
