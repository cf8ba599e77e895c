import { expect } from 'chai'
import * as fc from 'fast-check'
import {
  alignOriginal,
  applyEdits,
  withoutPlaces,
} from '../../../../../inference/text/stages/aligned-text.ts'
import { buildNormalizer } from '../../../../../inference/text/stages/normalizers.ts'
import { buildPreTokenizer } from '../../../../../inference/text/stages/pre-tokenizers.ts'
import {
  SPLIT_BEHAVIORS,
  splitAligned,
} from '../../../../../inference/text/stages/split-behavior.ts'
import type { SplitBehavior } from '../../../../../inference/text/stages/split-behavior.ts'

describe('split behaviors', () => {
  // The example of the reference's documentation.
  const cases: Record<SplitBehavior, string[]> = {
    Removed: ['the', 'final', 'countdown'],
    Isolated: ['the', '-', 'final', '-', '-', 'countdown'],
    MergedWithPrevious: ['the-', 'final-', '-', 'countdown'],
    MergedWithNext: ['the', '-final', '-', '-countdown'],
    Contiguous: ['the', '-', 'final', '--', 'countdown'],
  }
  for (const behavior of SPLIT_BEHAVIORS) {
    it(`${behavior} makes of matches what the reference makes`, () => {
      expect(split('the-final--countdown', /-/gu, behavior)).to.deep.equal(cases[behavior])
      expect(split('', /-/gu, behavior)).to.deep.equal([])
    })
  }

  it('split at an empty match', () => {
    expect(split('a b', /\b/gu, 'Contiguous')).to.deep.equal(['a', ' ', 'b'])
  })

  it('treat the text between matches as matches when inverted', () => {
    const words = splitAligned(withoutPlaces('the-final--countdown'), /[a-z]+/gu, {
      behavior: 'Removed',
      isInverted: true,
    })
    expect(words.map(({ text }) => text)).to.deep.equal(['the', 'final', 'countdown'])
  })
})

describe('edits of aligned texts', () => {
  it('map new characters to all characters that they replace', () => {
    const { text, places } = applyEdits(alignOriginal('a\u{1F600}bc'), [
      { start: 0, end: 0, content: '>' },
      { start: 1, end: 3, content: 'xyz' },
      { start: 3, end: 4, content: '' },
      { start: 5, end: 5, content: '<' },
    ])

    expect(text).to.equal('>axyzc<')
    expect([...places!.starts]).to.deep.equal([0, 0, 1, 1, 1, 4, 5])
    expect([...places!.ends]).to.deep.equal([1, 1, 3, 3, 3, 5, 5])
  })
})

const NORMALIZERS: readonly object[] = [
  { type: 'BertNormalizer', clean_text: true, handle_chinese_chars: true, lowercase: true },
  { type: 'Lowercase' },
  { type: 'NFC' },
  { type: 'NFD' },
  { type: 'NFKC' },
  { type: 'NFKD' },
  { type: 'Nmt' },
  { type: 'Prepend', prepend: '\u2581' },
  { type: 'Replace', pattern: { String: ' ' }, content: '$&$&' },
  { type: 'Replace', pattern: { Regex: ' {2,}' }, content: '' },
  { type: 'Strip', strip_left: true, strip_right: true },
  { type: 'StripAccents' },
]
const PRE_TOKENIZERS: readonly object[] = [
  { type: 'ByteLevel', add_prefix_space: true },
  { type: 'Metaspace' },
  { type: 'Digits', individual_digits: true },
  { type: 'FixedLength', length: 2 },
]

describe('stages of tokenizers', () => {
  const texts = fc
    .array(
      fc.oneof(
        fc.string({ unit: 'binary', maxLength: 6 }),
        fc.constantFrom(
          '  ',
          'e\u0301',
          'ﬁ',
          '\u1112\u1161\u11ab',
          'İ',
          '\uFDFA',
          'ｶﾞ',
          '\u0301',
          '\u9fff',
        ),
      ),
      { maxLength: 8 },
    )
    .map((parts) => parts.join('').toWellFormed())

  it('give the same text with places as without, and places in order (AT1, AT2)', () => {
    const normalizers = fc.constantFrom(...NORMALIZERS)
    const preTokenizers = fc.constantFrom(...PRE_TOKENIZERS)
    fc.assert(
      fc.property(texts, normalizers, preTokenizers, (text, normalizer, preTokenizer) => {
        const stages = buildNormalizer(normalizer)
        const [located, plain] = [alignOriginal(text), withoutPlaces(text)].map((input) =>
          buildPreTokenizer(preTokenizer)(stages.reduce((last, stage) => stage(last), input)),
        )
        expect(located!.map((piece) => piece.text)).to.deep.equal(plain!.map((piece) => piece.text))
        let last = 0
        for (const piece of located!) {
          const { starts, ends } = piece.places!
          expect([starts.length, ends.length]).to.deep.equal([piece.text.length, piece.text.length])
          for (const [at, start] of starts.entries()) {
            expect(start).to.be.within(last, text.length)
            expect(ends[at]).to.be.within(start, text.length)
            last = start
          }
        }
      }),
      { numRuns: 1000 },
    )
  })

  it('insert a replacement literally', () => {
    const stages = buildNormalizer({ type: 'Replace', pattern: { String: 'a' }, content: '$&$1' })
    const { text } = stages.reduce((input, stage) => stage(input), withoutPlaces('bab'))
    expect(text).to.equal('b$&$1b')
  })

  it('find no empty match behind a match or inside a character', () => {
    expect(replace('xa', { Regex: 'x*' })).to.equal('-a-')
    expect(replace('\u{1F600}', { Regex: '^ *' })).to.equal('-\u{1F600}')
  })

  it('refuse a character map whose replacements are too long', () => {
    const map = Buffer.alloc(8 + 300, 'x')
    map.writeUInt32LE(4, 0)
    const normalizer = { type: 'Precompiled', precompiled_charsmap: map.toString('base64') }
    expect(() => buildNormalizer(normalizer)).to.throw('a replacement of more than 256 bytes')
  })
})

function replace(text: string, pattern: object): string {
  const stages = buildNormalizer({ type: 'Replace', pattern, content: '-' })
  return stages.reduce((input, stage) => stage(input), withoutPlaces(text)).text
}

function split(text: string, pattern: RegExp, behavior: SplitBehavior): string[] {
  const pieces = splitAligned(withoutPlaces(text), pattern, { behavior, isInverted: false })
  return pieces.map((piece) => piece.text)
}
