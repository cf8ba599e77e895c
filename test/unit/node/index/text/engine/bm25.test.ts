// BM25 worked by hand, with Lucene's idf:
//
//   score = boost * idf * f * (k1 + 1) / (f + k1 * (1 - b + b * length / averageLength))
//   idf   = ln(1 + (N - df + 0.5) / (df + 0.5)),  k1 = 1.2,  b = 0.75
//
// (S. Robertson and H. Zaragoza, "The Probabilistic Relevance Framework: BM25 and Beyond", 2009,
// and org.apache.lucene.search.similarities.BM25Similarity up to 7, which still multiplies by k1 + 1.)
//
// The documents of all tests, of which N = 3 have the field; their average length is 3:
//
//   a   "blue whale"                 length 2
//   b   "blue blue sea"              length 3
//   c   "the sea and whale"          length 4
//
// The divisor's second part, k1 * (0.25 + 0.75 * length / 3), by length:
//
//   2: 1.2 * (0.25 + 0.50) = 0.9     3: 1.2 * (0.25 + 0.75) = 1.2     4: 1.2 * (0.25 + 1.00) = 1.5
//
// and f * 2.2 / (f + that):
//
//   f = 1, length 2: 2.2 / 1.9 = 1.1578947      f = 1, length 3: 2.2 / 2.2 = 1
//   f = 1, length 4: 2.2 / 2.5 = 0.88           f = 2, length 3: 4.4 / 3.2 = 1.375

import { expect } from 'chai'
import { ManualClock } from '../../../../../../lib/clock.ts'
import { mergeStatistics } from '../../../../../../node/index/text/search/merge-statistics.ts'
import type { EngineQuery } from '../../../../../../node/index/text/engine-query.ts'
import { TextIndex } from '../../../../../../node/index/text/engine/text-index.ts'
import { tokenListOf } from '../../../../../support/worlds/field-tokens.ts'

const DOCUMENTS = { a: 'blue whale', b: 'blue blue sea', c: 'the sea and whale' }

/** Every word of these is in two of the three documents: ln(1 + 1.5 / 2.5). */
const IDF_2_OF_3 = 0.470_003_6
/** In one of three: ln(1 + 2.5 / 1.5). */
const IDF_1_OF_3 = 0.980_829_3

function indexOf(documents: Readonly<Record<string, string>>): TextIndex {
  const index = TextIndex.open({ directory: undefined, clock: new ManualClock() })
  const upserts = Object.entries(documents).map(([key, text]) => {
    const words = text.split(' ')
    const tokens = tokenListOf(words.map((term, position) => ({ term, position })))
    const body = { kind: 'text', name: 'body', tokens, length: words.length } as const
    return { key: Buffer.from(key), expiresAtMs: 0, fields: [body] }
  })
  index.apply({ sequence: 1, upserts, deletes: [] })
  return index
}

const term = (word: string, boost = 1): EngineQuery => ({
  kind: 'term',
  field: 'body',
  term: word,
  boost,
})
const any = (...should: readonly EngineQuery[]): EngineQuery => ({
  kind: 'boolean',
  must: [],
  should,
  minShould: 1,
  mustNot: [],
  filter: [],
  boost: 1,
})
const phrase = (...words: readonly string[]): EngineQuery => ({
  kind: 'phrase',
  field: 'body',
  positions: words.map((word, offset) => ({ offset, terms: [word] })),
  slop: 0,
  boost: 1,
})

function scoresOf(index: TextIndex, query: EngineQuery, more: object = {}) {
  const request = { query, limit: 10, countTotal: true, nowMs: 1 }
  const { hits } = index.search({ ...request, ...more })
  return hits.map(({ key, score }) => [Buffer.from(key).toString(), score] as const)
}

type Scores = readonly (readonly [string, number])[]

function expectScores(found: Scores, expected: Scores): void {
  expect(found.map(([key]) => key)).to.deep.equal(expected.map(([key]) => key))
  for (const [i, [key, score]] of found.entries()) {
    expect(score, key).to.be.closeTo(expected[i]?.[1] ?? NaN, 1e-6)
  }
}

describe('BM25 worked by hand', () => {
  const cases: Readonly<
    Record<string, { readonly query: EngineQuery; readonly expected: Scores }>
  > = {
    'a term: the more frequent and the shorter text first': {
      query: term('blue'),
      expected: [
        ['b', IDF_2_OF_3 * 1.375], // 0.6462550
        ['a', IDF_2_OF_3 * 1.157_894_7], // 0.5442147
      ],
    },
    'a term of one document': { query: term('and'), expected: [['c', IDF_1_OF_3 * 0.88]] },
    'two terms: the sum of both': {
      query: any(term('blue'), term('sea')),
      expected: [
        ['b', IDF_2_OF_3 * (1.375 + 1)], // 1.1162586
        ['a', IDF_2_OF_3 * 1.157_894_7], // 0.5442147
        ['c', IDF_2_OF_3 * 0.88], // 0.4136032
      ],
    },
    'a boost multiplies its own term alone': {
      query: any(term('blue'), term('sea', 3)),
      expected: [
        ['b', IDF_2_OF_3 * (1.375 + 3)], // 2.0562658
        ['c', IDF_2_OF_3 * 3 * 0.88], // 1.2408095
        ['a', IDF_2_OF_3 * 1.157_894_7], // 0.5442147
      ],
    },
    'a phrase: one term with the sum of the idfs, as often as the words stand side by side': {
      query: phrase('blue', 'sea'),
      expected: [['b', (IDF_2_OF_3 + IDF_2_OF_3) * 1]], // 0.9400072
    },
    'a phrase with a rare word': {
      query: phrase('and', 'whale'),
      expected: [['c', (IDF_1_OF_3 + IDF_2_OF_3) * 0.88]], // 1.2767330
    },
  }
  for (const [name, { query, expected }] of Object.entries(cases)) {
    it(name, () => {
      const index = indexOf(DOCUMENTS)
      const inMemory = scoresOf(index, query)
      index.flush()
      const inSegment = scoresOf(index, query)

      expectScores(inMemory, expected)
      expect(inSegment).to.deep.equal(inMemory)
    })
  }

  it('does not count a deleted document', () => {
    const index = indexOf(DOCUMENTS)
    index.apply({ sequence: 2, upserts: [], deletes: [Buffer.from('c')] })

    // N 2, df 1: idf = ln(1 + 1.5 / 1.5) = ln 2. Average length 2.5.
    // b: 2.2 / (1 + 1.2 * (0.25 + 0.75 * 3 / 2.5)) = 2.2 / 2.38 = 0.9243697
    expectScores(scoresOf(index, term('sea')), [['b', Math.LN2 * 0.924_369_7]])
  })

  it('scores several shards as one, also where one has no document with the field', () => {
    const { a, ...rest } = DOCUMENTS
    const nothing = TextIndex.open({ directory: undefined, clock: new ManualClock() })
    const upserts = ['d', 'e'].map((key) => ({ key: Buffer.from(key), expiresAtMs: 0, fields: [] }))
    nothing.apply({ sequence: 1, upserts, deletes: [] })
    const shards = [nothing, indexOf({ a }), indexOf(rest), nothing]
    const query = term('blue')
    const statistics = mergeStatistics(shards.map((shard) => shard.queryStatistics(query)))

    const found = shards.flatMap((shard) => scoresOf(shard, query, { statistics }))

    expectScores(found, [
      ['a', IDF_2_OF_3 * 1.157_894_7],
      ['b', IDF_2_OF_3 * 1.375],
    ])
  })
})
