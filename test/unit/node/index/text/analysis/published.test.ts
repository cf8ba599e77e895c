// Analyzers against what others have published: the examples of the Elasticsearch Guide, whose
// analyzers are Lucene's, and the word boundary rules of UAX #29 (WB3 to WB13b) with their own
// examples, https://unicode.org/reports/tr29/#Word_Boundary_Rules.

import { expect } from 'chai'
import { analyzerOf } from '../../../../../../node/index/text/analysis/analyzers.ts'

/** https://www.elastic.co/guide/en/elasticsearch/reference/7.17/analysis-analyzers.html */
const SENTENCE = "The 2 QUICK Brown-Foxes jumped over the lazy dog's bone."

interface Row {
  readonly source: string
  readonly analyzer: string
  readonly text: string
  readonly expected: readonly string[]
}

const GUIDE: readonly Row[] = [
  {
    // The guide keeps "the": its standard analyzer has no stop words unless it is given some. With
    // `"stopwords": "_english_"`, Lucene's list as here, this is what is left.
    source: 'analysis-standard-analyzer',
    analyzer: 'standard',
    text: SENTENCE,
    expected: ['2', 'quick', 'brown', 'foxes', 'jumped', 'over', 'lazy', "dog's", 'bone'],
  },
  {
    source: 'analysis-simple-analyzer',
    analyzer: 'simple',
    text: SENTENCE,
    expected: [
      'the',
      'quick',
      'brown',
      'foxes',
      'jumped',
      'over',
      'the',
      'lazy',
      'dog',
      's',
      'bone',
    ],
  },
  {
    source: 'analysis-whitespace-analyzer',
    analyzer: 'whitespace',
    text: SENTENCE,
    expected: [
      'The',
      '2',
      'QUICK',
      'Brown-Foxes',
      'jumped',
      'over',
      'the',
      'lazy',
      "dog's",
      'bone.',
    ],
  },
  {
    source: 'analysis-keyword-analyzer',
    analyzer: 'keyword',
    text: SENTENCE,
    expected: [SENTENCE],
  },
  {
    source: 'analysis-htmlstrip-charfilter',
    analyzer: 'html',
    text: '<p>I&apos;m so <b>happy</b>!</p>',
    expected: ["i'm", 'so', 'happy'],
  },
]

// Pieces of text between "|" are words or what is between them. Two things differ from the report: a
// colon joins no letters (MidLetter), and quotation marks join no Hebrew letters (WB7a to WB7c).
const BOUNDARIES: readonly (readonly [rule: string, pieces: string])[] = [
  ['WB3', 'x|\r\n|b'],
  ['WB4: marks belong to the letter before', 'a\u0308b'],
  ['WB4: and so does a zero width joiner', 'a\u200db'],
  ['WB5: letters', 'ALetter'],
  ['WB6, WB7: a letter, one apostrophe or full stop, a letter', "can't"],
  ['WB6, WB7: a right single quotation mark', 'can\u2019t'],
  ['WB6, WB7: a full stop', 'e.g'],
  ['WB6, WB7: two of them part', "x|''|b"],
  ['WB6, WB7: one at the end parts', "x|'| |b"],
  ['WB8: digits', '32'],
  ['WB9, WB10: letters and digits', '3a'],
  ['WB9, WB10', 'A3'],
  ['WB11, WB12: digits with one of ". , \'" between', '3.2'],
  ['WB11, WB12', '3,456.789'],
  ['WB11, WB12: a comma does not join letters', 'x|,|b'],
  ['WB11, WB12: a comma before a letter parts', '1|,|b'],
  ['WB13: Katakana', 'カタカナ'],
  ['WB13a, WB13b: the underscore joins', 'a_1'],
  ['WB999: anything else parts', '我|們'],
]

function termsOf(analyzer: string, text: string): readonly string[] {
  return (
    analyzerOf(analyzer)
      ?.analyze(text)
      .map(({ term }) => term) ?? []
  )
}

describe('analyzers as published', () => {
  for (const { source, analyzer, text, expected } of GUIDE) {
    it(`${analyzer}, in ${source}`, () => {
      expect(termsOf(analyzer, text)).to.deep.equal(expected)
    })
  }

  for (const [rule, pieces] of BOUNDARIES) {
    it(`UAX #29, ${rule}: ${JSON.stringify(pieces)}`, () => {
      const text = pieces.replaceAll('|', '')
      const words = pieces.split('|').filter((piece) => /[\p{L}\p{N}]/u.test(piece))

      const tokens = analyzerOf('standard')?.analyzeWithOffsets(text) ?? []

      const shown = tokens.map(({ start, end }) => text.slice(start, end))
      expect(shown).to.deep.equal(words)
    })
  }
})
