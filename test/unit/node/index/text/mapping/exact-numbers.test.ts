// Ranges on numbers with more digits than doubles, against comparisons of decimals.

import { expect } from 'chai'
import {
  compareDecimals,
  decimalOfOrdered,
  orderedTextOf,
} from '../../../../../../node/document/decimal.ts'
import { parseExact, type JsonValue } from '../../../../../../node/document/exact-json.ts'
import { mergePartials } from '../../../../../../node/index/text/aggregation/merge-partials.ts'
import { compareHits } from '../../../../../../node/index/text/search/hit-order.ts'
import type {
  TextHit,
  TextSearchRequest,
} from '../../../../../../node/index/text/search/text-search.ts'
import { CursorWriter, parseCursor } from '../../../../../../node/query/request/query-cursor.ts'
import { aggregationResults } from '../../../../../../node/index/text/aggregation/aggregation-result.ts'
import { parseAggregations } from '../../../../../../node/query/request/aggregation-request.ts'
import { parseQuery } from '../../../../../../node/query/language/parse-query.ts'
import { EVERYTHING, MemoryTextIndex } from '../../../../../support/worlds/memory-text-index.ts'

/** Decimals around numbers that doubles cannot tell apart, and some that they can. */
const NUMBERS = [
  '9007199254740991', '9007199254740992', '9007199254740993', '9007199254740994', '9007199254740995',
  '-9007199254740993', '-9007199254740992', '18446744073709551615', '18446744073709551614', '9223372036854775807',
  '0.1', '0.10000000000000000001', '0.09999999999999999999', '5', '5.0', '0', '-0.0', '1e300', '1.0000000000000000001e300',
] // prettier-ignore

const documents: Readonly<Record<string, readonly string[]>> = Object.fromEntries([
  ...NUMBERS.map((number, at) => [`one${at}`, [number]] as const),
  ...NUMBERS.map((number, at) => [`two${at}`, [number, NUMBERS[at + 3] ?? '7']] as const),
])
const index = new MemoryTextIndex(
  Object.fromEntries(
    Object.entries(documents).map(([key, numbers]) => [
      key,
      { n: parseExact(`[${numbers.join()}]`) },
    ]),
  ),
)

function found(filter: string): readonly string[] {
  const conditions = {
    ...EVERYTHING.conditions,
    filter: parseQuery(parseExact(filter), 'filter_query'),
  }
  const { hits } = index.search({
    ...EVERYTHING,
    conditions,
    window: { kind: 'first', limit: 1000 },
  })
  return hits.map(({ key }) => Buffer.from(key).toString()).toSorted()
}

const passing = (passes: (number: string) => boolean): readonly string[] =>
  Object.keys(documents).filter((key) => documents[key]?.some(passes)).toSorted() // prettier-ignore

describe('numbers with more digits than doubles', () => {
  for (const bound of NUMBERS) {
    it(`are compared exactly with ${bound}`, () => {
      const compare = (number: string): number => compareDecimals(number, bound)

      const equal = passing((number) => compare(number) === 0)
      expect(found(`{"term":${bound},"field":"n"}`)).to.deep.equal(equal)
      expect(found(`{"term":"${bound}","field":"n"}`)).to.deep.equal(equal)
      expect(found(`{"query":"n:${bound.replace('-', '\\\\-')}"}`)).to.deep.equal(equal)
      for (const [operator, passes] of Object.entries(OPERATORS)) {
        const expected = passing((number) => passes(compare(number)))
        expect(found(`{"query":"n:${operator}${bound}"}`), operator).to.deep.equal(expected)
      }
      expect(found(`{"min":${bound},"inclusive_min":false,"field":"n"}`)).to.deep.equal(
        passing((n) => compare(n) > 0),
      )
      expect(found(`{"max":${bound},"field":"n"}`)).to.deep.equal(passing((n) => compare(n) < 0))
    })
  }

  it('match other ranges', () => {
    for (const min of NUMBERS) {
      for (const max of NUMBERS) {
        if (compareDecimals(min, max) > 0) continue
        const expected = passing((n) => compareDecimals(n, min) >= 0 && compareDecimals(n, max) < 0)
        expect(found(`{"min":${min},"max":${max},"field":"n"}`), `${min} to ${max}`).to.deep.equal(
          expected,
        )
      }
    }
  })
})

describe('facets of numbers with more digits than doubles', () => {
  it('have a bucket for each number', () => {
    const request = parseAggregations(
      parseExact('{"n":{"type":"terms","field":"n","size":1000}}'),
      'aggregations',
    )
    const answer = index.search({ ...EVERYTHING, aggregations: request })
    const { n } = aggregationResults(request, answer.aggregations, EVERYTHING.nowMs)
    const buckets = n !== undefined && 'buckets' in n ? n.buckets : []

    for (const number of NUMBERS) {
      const same = buckets.filter(({ key }) => compareDecimals(key, number) === 0)
      const count = passing((one) => compareDecimals(one, number) === 0).length
      expect(
        same.map((bucket) => bucket.doc_count),
        number,
      ).to.deep.equal([count])
    }
  })
})

describe('metrics of numbers with more digits than doubles', () => {
  const request = parseAggregations(
    parseExact(
      '{"least":{"type":"min","field":"n"},"greatest":{"type":"max","field":"n"},' +
        '"all":{"type":"stats","field":"n"},"different":{"type":"cardinality","field":"n"}}',
    ),
    'aggregations',
  )
  const prefixed = (prefix: string): TextSearchRequest => ({
    ...EVERYTHING,
    conditions: { ...EVERYTHING.conditions, keyPrefix: Buffer.from(prefix) },
    aggregations: request,
  })
  const resultsOf = (prefixes: readonly string[]): unknown => {
    const partials = prefixes.map((prefix) => index.search(prefixed(prefix)).aggregations)
    const results = aggregationResults(request, mergePartials(partials), EVERYTHING.nowMs)
    const names = ['least', 'greatest', 'all', 'different', 'value', 'min', 'max']
    return JSON.parse(JSON.stringify(results, names), sources)
  }

  /** Prefixes of keys. The documents under each are a shard of their own. */
  const cases = [
    ['one'], ['two'], ['one', 'two'], ...NUMBERS.map((_, at) => [`one${at}`, `two${at}`]),
    ...NUMBERS.flatMap((_, a) => NUMBERS.map((__, b) => [`one${a}`, `one${b}`])),
  ] // prettier-ignore
  it('have all digits, in one shard and merged', () => {
    for (const prefixes of cases) {
      const numbers = Object.keys(documents)
        .filter((key) => prefixes.some((prefix) => key.startsWith(prefix)))
        .flatMap((key) => documents[key] ?? [])
        .map((number) => decimalOfOrdered(orderedTextOf(number)))
        .toSorted(compareDecimals)
      const [least, greatest] = [numbers[0], numbers.at(-1)]
      const expected = {
        least: { value: least },
        greatest: { value: greatest },
        all: { min: least, max: greatest },
        different: { value: String(new Set(numbers).size) },
      }
      expect(resultsOf(prefixes), prefixes.join()).to.deep.equal(expected)
    }
  })
})

const textOf = ({ key }: TextHit): string => Buffer.from(key).toString()

describe('an order by numbers with more digits than doubles', () => {
  /** The second shard has no number beyond doubles, but the doubles that they round to. */
  const rounded = Object.fromEntries(
    NUMBERS.map((number, at) => [`plain${at}`, [String(Number(number))]] as const),
  )
  const shards = [
    index,
    new MemoryTextIndex({
      none: { other: 1 },
      ...Object.fromEntries(
        Object.entries(rounded).map(([key, numbers]) => [
          key,
          { n: parseExact(`[${numbers.join()}]`) },
        ]),
      ),
    }),
  ]
  const all = { ...documents, ...rounded }

  for (const isDescending of [false, true]) {
    const order = [{ field: 'n', isDescending }]
    const sorted = Object.entries(all)
      .map(([key, numbers]) => {
        const ascending = numbers.toSorted(compareDecimals)
        return { key, number: (isDescending ? ascending.at(-1) : ascending[0]) ?? '' }
      })
      .toSorted((a, b) => {
        const compared = compareDecimals(a.number, b.number)
        return (isDescending ? -compared : compared) || (a.key < b.key ? -1 : 1)
      })
    const expected = [...sorted.map(({ key }) => key), 'none']

    const pageOf = (kind: 'after' | 'before', cursor: readonly string[], limit: number) => {
      const position = parseCursor(cursor, order, kind)
      const lists = shards.map((shard) => {
        const window = { kind, position, limit }
        return shard.search({ ...EVERYTHING, order, window }).hits
      })
      const hits = lists.flat().toSorted((a, b) => compareHits(order, a, b))
      return kind === 'after' ? hits.slice(0, limit) : hits.slice(-limit)
    }
    const cursorOf = ({ sortValues, key }: TextHit) =>
      new CursorWriter(order, undefined).write(sortValues, Buffer.from(key))

    const whole = shards
      .flatMap((shard) => {
        const window = { kind: 'first', limit: 1000 } as const
        return shard.search({ ...EVERYTHING, order, window }).hits
      })
      .toSorted((a, b) => compareHits(order, a, b))

    it(`is that of the decimals, ${isDescending ? 'descending' : 'ascending'}`, () => {
      expect(whole.map(textOf)).to.deep.equal(expected)
      for (const limit of [1, 3, 10]) {
        for (const shard of shards) {
          const window = { kind: 'first', limit } as const
          const own = whole.map(textOf).filter((key) => shard === index ? key in documents : !(key in documents)) // prettier-ignore
          const { hits } = shard.search({ ...EVERYTHING, order, window })
          expect(hits.map(textOf)).to.deep.equal(own.slice(0, limit))
        }
      }
    })

    it(`has the digits in cursors, ${isDescending ? 'descending' : 'ascending'}`, () => {
      for (const [at, { number }] of sorted.entries()) {
        const value = parseCursor(cursorOf(whole[at]!), order, 'after').values[0]
        const text = typeof value === 'object' ? value.decimal : String(value)
        expect(compareDecimals(text, number), number).to.equal(0)
      }
    })

    it(`has pages in front of and behind each hit, ${isDescending ? 'down' : 'up'}`, () => {
      for (const [at, hit] of whole.entries()) {
        for (const limit of [1, 4]) {
          const after = pageOf('after', cursorOf(hit), limit)
          expect(after.map(textOf)).to.deep.equal(expected.slice(at + 1, at + 1 + limit))
          const before = pageOf('before', cursorOf(hit), limit)
          expect(before.map(textOf)).to.deep.equal(expected.slice(Math.max(0, at - limit), at))
        }
      }
    })
  }
})

/** Numbers as their text. */
function sources(_name: string, value: JsonValue, { source }: { readonly source?: string }) {
  return typeof value === 'number' ? decimalOfOrdered(orderedTextOf(source ?? '')) : value
}

const OPERATORS: Readonly<Record<string, (order: number) => boolean>> = {
  '>': (order) => order > 0,
  '>=': (order) => order >= 0,
  '<': (order) => order < 0,
  '<=': (order) => order <= 0,
}
