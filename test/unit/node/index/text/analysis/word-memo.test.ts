// Documents get their terms word by word through a memo; queries get theirs from the whole text. Both have to be
// the same terms at the same positions.

import { readFileSync } from 'node:fs'
import { expect } from 'chai'
import * as fc from 'fast-check'
import { runAtOnce } from '../../../../../../lib/sliced.ts'
import type { Analyzer, WordAnalysis } from '../../../../../../node/index/text/analysis/analyzer.ts'
import { analyzerOf } from '../../../../../../node/index/text/analysis/analyzers.ts'
import { withParts } from '../../../../../../node/index/text/analysis/identifier-parts.ts'
import { WordMemo } from '../../../../../../node/index/text/analysis/word-memo.ts'
import { TermTable } from '../../../../../../node/index/text/encoding/term-table.ts'
import type { IndexableToken } from '../../../../../../node/index/text/indexable-document.ts'
import { TextAnalysis } from '../../../../../../node/index/text/mapping/document-terms.ts'
import { TokenList } from '../../../../../../node/index/text/mapping/token-list.ts'
import { ANALYZER_NAMES } from '../../../../../../node/schema/analyzer-names.ts'
import { tokensOf } from '../../../../../support/worlds/field-tokens.ts'

const REPOSITORY = new URL('../../../../../../', import.meta.url)
/** Documents of this repository, and tests with words of many scripts. */
const REAL_TEXTS = [
  'ARCHITECTURE.md',
  'node/index/text/analysis/fold-term.ts',
  'test/support/loads/script-texts.ts',
  'test/unit/node/index/text/analysis/analyzers.test.ts',
].map((file) => readFileSync(new URL(file, REPOSITORY), 'utf8'))

/** What decides about words: case, joints, marks, and letters of scripts that fold in their own ways. */
const PIECES = [
  'a',
  'A',
  'b',
  'B',
  'i',
  'I',
  'z',
  'Z',
  '0',
  '1',
  '9',
  ' ',
  ' ',
  '.',
  '_',
  "'",
  '’',
  ',',
  '-',
  ':',
  '\u00ad',
  '\u0301',
  '\ufb01',
  'é',
  'É',
  'ß',
  'ẞ',
  'İ',
  'ı',
  'ё',
  'Ё',
  'σ',
  'ς',
  'Σ',
  'ü',
  'ș',
  'ş',
  'و',
  'ة',
  'ى',
  'א',
  '東',
  'ひ',
  'カ',
  'ｱ',
  '한',
  'ไ',
  'ท',
  '\u{1d4d0}',
  '\ud83d',
  '😀',
  '🇩🇪',
  'the ',
  'The ',
  'THE ',
  "Jim's ",
  'getUserName ',
  'x.USa ',
  'running ',
  'connections ',
]

function tokensByWords(analyzer: Analyzer, texts: readonly string[]): IndexableToken[][] {
  const terms = new TermTable()
  const analysis = new TextAnalysis(analyzer, terms)
  return texts.map((text) => {
    const list = new TokenList(terms)
    analysis.add(text, list)
    return [...tokensOf({ tokens: list })]
  })
}

function wellFormed(tokens: readonly IndexableToken[]): IndexableToken[] {
  return tokens.map(({ term, position }) => ({ term: term.toWellFormed(), position }))
}

describe('the words of documents', () => {
  for (const name of [...ANALYZER_NAMES, 'html_german']) {
    const plain = analyzerOf(name)!
    for (const analyzer of [plain, withParts(plain)]) {
      const title = `${name}${analyzer === plain ? '' : ' with parts of words'}`

      it(`have the terms that ${title} finds in the whole text`, () => {
        fc.assert(
          fc.property(
            fc.array(fc.string({ unit: fc.constantFrom(...PIECES), maxLength: 30 }), {
              maxLength: 6,
            }),
            (texts) => {
              const expected = texts.map((text) => wellFormed(analyzer.analyze(text)))
              expect(tokensByWords(analyzer, texts)).to.deep.equal(expected)
            },
          ),
          { numRuns: 300 },
        )
      })

      it(`have the terms that ${title} finds in real texts, also in steps`, () => {
        const terms = new TermTable()
        const analysis = new TextAnalysis(analyzer, terms)
        for (const text of REAL_TEXTS) {
          const list = new TokenList(terms)
          runAtOnce(analysis.addInSteps(text, list))

          expect(tokensOf({ tokens: list })).to.deep.equal(wellFormed(analyzer.analyze(text)))
        }
      }).timeout(20_000)
    }
  }
})

describe('a memo of words', () => {
  it('keeps the terms of the word by which it is emptied', () => {
    const analysis: WordAnalysis = {
      ...analyzerOf('whitespace')!.words!,
      termsOf: (word) => word.split('+'),
    }
    const terms = new TermTable()
    const memo = new WordMemo(analysis, terms)
    const added = (word: string): string => {
      const found: string[] = []
      memo.addWords(word, [0, word.length], 0, { push: (term) => found.push(terms.at(term)) })
      return found.join('+')
    }

    const words = Array.from({ length: 200_000 }, (_, n) => `${n % 300}+${n}`)
    const wrong = words.filter((word) => added(word) !== word || added(word) !== word)

    expect(wrong).to.deep.equal([])
  }).timeout(20_000)

  it('counts the lists of words that become several terms', () => {
    const analysis: WordAnalysis = {
      ...analyzerOf('whitespace')!.words!,
      termsOf: (word) => word.split('+'),
    }
    const bytesAfter = (words: readonly string[]): number => {
      const memo = new WordMemo(analysis, new TermTable())
      for (const word of words) memo.addWords(word, [0, word.length], 0, { push: () => undefined })
      return memo.bytes
    }
    const numbers = Array.from({ length: 1000 }, (_, n) => n + 1000)

    const single = bytesAfter(numbers.map((n) => `a_${n}`))
    const several = bytesAfter(numbers.map((n) => `a+${n}`))

    expect(several - single).to.be.within(1000 * 16, 1000 * 100)
  })

  it('keeps giving the same terms when it is emptied, and analyzes a word once in between', () => {
    let analyzed = 0
    const analysis: WordAnalysis = {
      ...analyzerOf('whitespace')!.words!,
      termsOf: (word) => {
        analyzed += 1
        return word === 'none' ? [] : word.split('+')
      },
    }
    const terms = new TermTable()
    const memo = new WordMemo(analysis, terms)
    const added = (word: string): readonly string[] => {
      const found: string[] = []
      memo.addWords(word, [0, word.length], 0, { push: (term) => found.push(terms.at(term)) })
      return found
    }

    for (let round = 0; round < 2; round += 1) {
      for (let n = 0; n < 200_000; n += 1) added(`w${n}`)
      const before = analyzed
      const found = ['none', 'a+b', 'one', 'none', 'a+b', 'one'].map(added)

      expect(found).to.deep.equal([[], ['a', 'b'], ['one'], [], ['a', 'b'], ['one']])
      expect(analyzed - before).to.equal(3)
    }
  }).timeout(20_000)
})
