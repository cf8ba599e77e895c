// Fuzzy words, prefixes and wildcards in the order of their scores. What exactly each scores is checked
// against the formula by test/integration/text-differential.test.ts.

import { expect } from 'chai'
import { mergeStatistics } from '../../../../../../node/index/text/search/merge-statistics.ts'
import type { JsonObject, JsonValue } from '../../../../../../node/document/exact-json.ts'
import { parseQuery } from '../../../../../../node/query/language/parse-query.ts'
import { EVERYTHING, MemoryTextIndex } from '../../../../../support/worlds/memory-text-index.ts'

function conditionsOf(query: JsonValue, filter?: JsonValue) {
  return {
    ...EVERYTHING.conditions,
    query: parseQuery(query, 'query'),
    filter: filter === undefined ? undefined : parseQuery(filter, 'filter'),
  }
}

function hitsOf(index: MemoryTextIndex, query: JsonValue, more: object = {}) {
  const { hits } = index.search({ ...EVERYTHING, conditions: conditionsOf(query), ...more })
  return hits.map(({ key, score }) => ({ key: Buffer.from(key).toString(), score }))
}

function keysOf(index: MemoryTextIndex, query: JsonValue): readonly string[] {
  return hitsOf(index, query).map(({ key }) => key)
}

function indexOf(bodies: Readonly<Record<string, string>>): MemoryTextIndex {
  const documents = Object.entries(bodies).map(([key, body]): [string, JsonObject] => [
    key,
    { body },
  ])
  return new MemoryTextIndex(Object.fromEntries(documents))
}

/** The word itself is frequent, and each slip of the pen is there once. */
const WORDS = indexOf({
  a: 'pythons web',
  b: 'pythn web',
  c: 'ptyhn web',
  d: 'python web',
  e: 'python net',
  f: 'ruby web',
})

describe('a ranked expansion', () => {
  it('ranks the word before words one edit away, and those before words two edits away', () => {
    // The distances of "pythons" and "pythn" are 1, that of "ptyhn" is 2: an exchange and a letter.
    const byDistance = ['d', 'e', 'a', 'b', 'c']

    const asked: readonly JsonValue[] = [
      { term: 'python', fuzziness: 2, field: 'body' },
      { match: 'Python', fuzziness: 'auto', field: 'body' },
      { query: 'body:python~2' },
      { match: 'ruby python', fuzziness: 2, field: 'body', operator: 'or' },
    ]
    for (const query of asked) {
      const keys = keysOf(WORDS, query).filter((key) => key !== 'f')
      expect(keys, JSON.stringify(query)).to.deep.equal(byDistance)
    }
  })

  it('ranks for a prefix the whole word first, and shorter words before longer ones', () => {
    const index = indexOf({
      a: 'charting sea',
      b: 'chart sea',
      c: 'char sea',
      d: 'character sea',
    })

    expect(keysOf(index, { prefix: 'char', field: 'body' })).to.deep.equal(['c', 'b', 'a', 'd'])
    expect(keysOf(index, { wildcard: 'c*r*', field: 'body' })).to.deep.equal(['c', 'b', 'a', 'd'])
  })

  it('scores by the frequency of the words and the length of the text', () => {
    const index = indexOf({ a: 'sea chart of the north sea', b: 'chart', c: 'chart chart' })

    const hits = hitsOf(index, { prefix: 'cha', field: 'body' })

    expect(hits.map(({ key }) => key)).to.deep.equal(['c', 'b', 'a'])
  })

  it('ranks all terms but the closest fifty last, with one low score', () => {
    const index = indexOf({
      ...Object.fromEntries(Array.from({ length: 60 }, (_, i) => [`k${i + 10}`, `aa${i + 10}`])),
      z: 'aa',
    })

    const hits = hitsOf(
      index,
      { prefix: 'aa', field: 'body' },
      { window: { kind: 'first', limit: 100 } },
    )

    expect(hits).to.have.lengthOf(61)
    expect(hits[0]?.key).to.equal('z')
    expect(hits.slice(50).map(({ key }) => key)).to.deep.equal(
      Array.from({ length: 11 }, (_, i) => `k${i + 59}`),
    )
    const rest = hits.slice(50).map(({ score }) => score)
    expect(new Set(rest)).to.have.lengthOf(1)
    expect(rest[0]).to.be.closeTo(0.1, 1e-6).and.below(hits[49]!.score)
  })

  it('is a plain set in a filter', () => {
    const filter = { term: 'python', fuzziness: 2, field: 'body' }
    const { hits, total } = WORDS.search({
      ...EVERYTHING,
      conditions: conditionsOf({ match_all: {} }, filter),
    })

    expect(total).to.equal(5)
    expect(hits.map(({ score }) => score)).to.deep.equal([1, 1, 1, 1, 1])
  })

  it('scores in two shards as in one', () => {
    const bodies = Object.fromEntries(
      Array.from({ length: 120 }, (_, i) => [`k${i}`, `w${(i * 37) % 90} ${'sea '.repeat(i % 4)}`]),
    )
    const part = (isOurs: (i: number) => boolean) =>
      indexOf(Object.fromEntries(Object.entries(bodies).filter((_, i) => isOurs(i))))
    const shards = [part((i) => i % 3 === 0), part((i) => i % 3 > 0)]
    const window = { kind: 'first', limit: 1000 } as const
    for (const query of [
      { prefix: 'w', field: 'body' },
      { wildcard: 'w*1', field: 'body' },
      { match: 'w11 w22', fuzziness: 1, field: 'body' },
    ]) {
      const statistics = mergeStatistics(
        shards.map((shard) => shard.statistics(conditionsOf(query))),
      )

      const apart = shards.flatMap((shard) => hitsOf(shard, query, { window, statistics }))

      const together = hitsOf(indexOf(bodies), query, { window })
      const scores = new Map(apart.map(({ key, score }) => [key, score]))
      expect(apart).to.have.lengthOf(together.length)
      for (const { key, score } of together) expect(scores.get(key), key).to.be.closeTo(score, 1e-6)
    }
  })

  it('ignores terms that only deleted documents have', () => {
    const index = indexOf({ a: 'whale', b: 'whalf' })
    index.write({}, ['b'])

    const hits = hitsOf(index, { match: 'whale', fuzziness: 1, field: 'body' })

    expect(hits).to.deep.equal(hitsOf(indexOf({ a: 'whale' }), { match: 'whale', field: 'body' }))
  })

  it('scores in a search of several fields with typos and a prefix', () => {
    const index = new MemoryTextIndex({
      a: { name: 'lighthouse', about: 'of the north' },
      b: { name: 'light', about: 'house of stone' },
    })
    const search = (query: string, fuzziness: JsonValue) =>
      keysOf(index, {
        multi_match: { query, fields: ['name', 'about'], type: 'bool_prefix', fuzziness },
      })

    expect(search('ligthouse nor', 'auto')).to.deep.equal(['a'])
    expect(search('ligthouse', 0)).to.deep.equal([])
    expect(search('ligt', 1)).to.deep.equal(['b'])
  })
})
