// The JSON query language printed and parsed again. The query string has the same in
// query-string.test.ts.

import Ajv2020 from 'ajv/dist/2020.js'
import { expect } from 'chai'
import * as fc from 'fast-check'
import { parseExact } from '../../../../../node/document/exact-json.ts'

import { parseQuery } from '../../../../../node/query/language/parse-query.ts'
import type { Query, QueryBounds } from '../../../../../node/query/query-tree.ts'
import { loadContract } from '../../../../../door/contract.ts'

type Kind = Query['kind']

/** A query string's own, and what query-parse.test.ts reads case by case. */
type Elsewhere = 'untyped-range' | 'geo-shape'

type Printed = Readonly<Record<string, unknown>>

interface Sample {
  readonly tree: Query
  readonly json: Printed
}

function sample<Leaf extends Query>(
  leaf: fc.Arbitrary<Leaf>,
  print: (leaf: Leaf) => Printed,
): fc.Arbitrary<Sample> {
  return leaf.map((tree) => {
    const field = 'field' in tree ? { field: tree.field } : {}
    return { tree, json: { ...print(tree), ...field, boost: tree.boost } }
  })
}

const text = fc.string({ maxLength: 8, unit: 'grapheme' })
const field = fc.option(fc.stringMatching(/^[a-z]{1,4}(\.[a-z]{1,3})?$/), { nil: undefined })
const boost = fc.constantFrom(1, 0, 0.5, 2, 10_000)
const place = { field, boost }
const fuzziness = fc.constantFrom(0 as const, 1 as const, 2 as const, 'auto' as const)
const analyzer = fc.constantFrom(undefined, 'english' as const)
// A star alone asks for any value: that is `exists`.
const wildcard = fc
  .stringMatching(/^(?:[a-z*?]|\\[*?\\]){1,6}$/)
  .filter((pattern) => pattern !== '*')
const regexp = fc.constantFrom('sea.*', '[a-c]x?', '(ab|c)*', 'x{2,3}', String.raw`\d+\.`)
const point = fc.record({
  lon: fc.integer({ min: -1800, max: 1800 }).map((tenths) => tenths / 10),
  lat: fc.integer({ min: -900, max: 900 }).map((tenths) => tenths / 10),
})
const decimal = fc.integer({ min: -1e9, max: 1e9 }).map((number) => number / 1000)
const dateMs = fc.integer({ min: Date.UTC(1, 0, 1), max: Date.UTC(9998, 0, 1) })

/** At least one end, and the lower one first. */
function bounds<Value>(value: fc.Arbitrary<Value>, compare: (a: Value, b: Value) => number) {
  const ends = fc.tuple(value, value, fc.constantFrom('min', 'max', 'both'))
  const flags = { inclusiveMin: fc.boolean(), inclusiveMax: fc.boolean() }
  return fc.tuple(ends, fc.record(flags)).map(([[a, b, kept], flag]): QueryBounds<Value> => {
    const [min, max] = compare(a, b) <= 0 ? [a, b] : [b, a]
    return {
      min: kept === 'max' ? undefined : min,
      max: kept === 'min' ? undefined : max,
      ...flag,
    }
  })
}

/** As terms are ordered: composed, by bytes. */
const bytewise = (a: string, b: string): number =>
  Buffer.compare(Buffer.from(a.normalize('NFC')), Buffer.from(b.normalize('NFC')))

function printedBounds({ min, max, inclusiveMin, inclusiveMax }: QueryBounds<unknown>): Printed {
  return { min, max, inclusive_min: inclusiveMin, inclusive_max: inclusiveMax }
}

function printedDate(time: number | undefined): string | undefined {
  return time === undefined ? undefined : new Date(time).toISOString()
}

const kind = <Name extends Kind>(name: Name) => ({ kind: fc.constant(name) })

// A new kind is a compile error here.
const LEAVES: Readonly<Record<Exclude<Kind, Elsewhere | 'boolean'>, fc.Arbitrary<Sample>>> = {
  all: sample(fc.record({ ...kind('all'), boost }), () => ({ match_all: {} })),
  none: sample(fc.record({ ...kind('none'), boost }), () => ({ match_none: {} })),
  term: sample(fc.record({ ...kind('term'), term: text, ...place }), ({ term }) => ({ term })),
  match: sample(
    fc.record({
      ...kind('match'),
      text,
      operator: fc.constantFrom('or' as const, 'and' as const),
      fuzziness,
      prefixLength: fc.nat(100),
      analyzer,
      ...place,
    }),
    ({ text: match, prefixLength, operator, fuzziness: edits, analyzer: name }) => ({
      match,
      operator,
      fuzziness: edits,
      prefix_length: prefixLength,
      analyzer: name,
    }),
  ),
  phrase: sample(
    fc.record({ ...kind('phrase'), text, slop: fc.nat(1000), fuzziness, analyzer, ...place }),
    ({ text: words, slop, fuzziness: edits, analyzer: name }) => ({
      match_phrase: words,
      slop,
      fuzziness: edits,
      analyzer: name,
    }),
  ),
  'phrase-terms': sample(
    fc.record({
      ...kind('phrase-terms'),
      positions: fc.array(fc.array(text, { minLength: 1, maxLength: 3 }), { minLength: 1 }),
      slop: fc.nat(1000),
      ...place,
    }),
    ({ positions, slop }) => ({ terms: positions, slop }),
  ),
  fuzzy: sample(
    fc.record({ ...kind('fuzzy'), term: text, fuzziness, prefixLength: fc.nat(100), ...place }),
    ({ term, fuzziness: edits, prefixLength }) => ({
      term,
      fuzziness: edits,
      prefix_length: prefixLength,
    }),
  ),
  'any-of': fc
    .record({ ...kind('any-of'), values: fc.array(text, { minLength: 1 }), ...place })
    .map(({ values, field: name, boost: weight, ...tree }) => ({
      tree: { ...tree, values, field: name, boost: weight },
      json: { terms: { values, ...(name === undefined ? {} : { field: name }) }, boost: weight },
    })),
  prefix: sample(fc.record({ ...kind('prefix'), prefix: text, ...place }), ({ prefix }) => ({
    prefix,
  })),
  wildcard: sample(
    fc.record({ ...kind('wildcard'), pattern: wildcard, ...place }),
    ({ pattern }) => ({ wildcard: pattern }),
  ),
  regexp: sample(fc.record({ ...kind('regexp'), pattern: regexp, ...place }), ({ pattern }) => ({
    regexp: pattern,
  })),
  numbers: sample(
    fc.record({ ...kind('numbers'), bounds: bounds(decimal, (a, b) => a - b), ...place }),
    (leaf) => printedBounds(leaf.bounds),
  ),
  terms: sample(fc.record({ ...kind('terms'), bounds: bounds(text, bytewise), ...place }), (leaf) =>
    printedBounds(leaf.bounds),
  ),
  dates: sample(
    fc.record({ ...kind('dates'), bounds: bounds(dateMs, (a, b) => a - b), ...place }),
    ({ bounds: { min, max, inclusiveMin, inclusiveMax } }) => ({
      start: printedDate(min),
      end: printedDate(max),
      inclusive_start: inclusiveMin,
      inclusive_end: inclusiveMax,
    }),
  ),
  bool: sample(fc.record({ ...kind('bool'), value: fc.boolean(), ...place }), ({ value }) => ({
    bool: value,
  })),
  ip: sample(
    fc.record({
      ...kind('ip'),
      cidr: fc.constantFrom('10.0.0.0/8', '192.168.1.1', '2001:db8::/32', '::1'),
      ...place,
    }),
    ({ cidr }) => ({ cidr }),
  ),
  exists: sample(fc.record({ ...kind('exists'), ...place }), () => ({ wildcard: '*' })),
  ids: sample(fc.record({ ...kind('ids'), ids: fc.array(text), boost }), ({ ids }) => ({ ids })),
  'geo-box': sample(
    fc
      .record({ ...kind('geo-box'), topLeft: point, bottomRight: point, ...place })
      .filter(({ topLeft, bottomRight }) => topLeft.lat >= bottomRight.lat),
    ({ topLeft, bottomRight }) => ({
      top_left: [topLeft.lon, topLeft.lat],
      bottom_right: bottomRight,
    }),
  ),
  'geo-distance': sample(
    fc.record({ ...kind('geo-distance'), centre: point, metres: fc.nat(1e7), ...place }),
    ({ centre, metres }) => ({ location: `${centre.lat},${centre.lon}`, distance: `${metres}m` }),
  ),
  'geo-polygon': sample(
    fc.record({
      ...kind('geo-polygon'),
      points: fc.array(point, { minLength: 3, maxLength: 6 }),
      ...place,
    }),
    ({ points }) => ({ polygon_points: points }),
  ),
  simple: sample(
    fc.record({
      ...kind('simple'),
      text,
      fields: fc.option(
        fc.array(
          fc.record({ name: fc.stringMatching(/^[a-z]{1,4}$/), boost: fc.constantFrom(1, 2.5) }),
          { minLength: 1, maxLength: 3 },
        ),
        { nil: undefined },
      ),
      boost,
    }),
    ({ fields, text: query }) => {
      const weighted = fields?.map(({ name, boost: weight }) => `${name}^${weight}`)
      return { simple: weighted === undefined ? { query } : { query, fields: weighted } }
    },
  ),
  'multi-match': sample(
    fc.record({
      ...kind('multi-match'),
      fields: fc.array(fc.stringMatching(/^[a-z]{1,4}$/), { minLength: 1, maxLength: 3 }),
      text,
      fuzziness,
      boost,
    }),
    ({ fields, text: query, fuzziness: edits }) => ({
      multi_match: { query, fields, type: 'bool_prefix', fuzziness: edits },
    }),
  ),
}

interface Parts {
  readonly must: readonly Sample[]
  readonly should: readonly Sample[]
  readonly mustNot: readonly Sample[]
  /** One at most: a filter is one query. */
  readonly filter: readonly Sample[]
  readonly minShould: number
  /** A list of one is written as that one, where that means the same. */
  readonly isBare: boolean
  readonly boost: number
}

function sampleTree(depth: number): fc.Arbitrary<Sample> {
  const leaf = fc.oneof(...Object.values(LEAVES))
  if (depth === 0) return leaf
  const parts = fc.array(sampleTree(depth - 1), { maxLength: 3 })
  const filter = fc.array(sampleTree(depth - 1), { maxLength: 1 })
  const lists = { must: parts, should: parts, mustNot: parts, filter }
  const compound = fc
    .record({ ...lists, minShould: fc.nat(3), isBare: fc.boolean(), boost })
    .filter(({ must, should, mustNot, filter: one }) =>
      [must, should, mustNot, one].some((list) => list.length > 0),
    )
    .map((chosen): Sample => ({ tree: treeOf(chosen), json: jsonOf(chosen) }))
  return fc.oneof(leaf, compound)
}

const treesOf = (samples: readonly Sample[]): readonly Query[] => samples.map(({ tree }) => tree)

/** Alone, one of `should` must hold; without `should` nothing can be asked of it. */
function treeOf({ must, should, mustNot, filter, minShould, boost: factor }: Parts): Query {
  const least = must.length + filter.length === 0 ? Math.max(1, minShould) : minShould
  return {
    kind: 'boolean',
    must: treesOf(must),
    should: treesOf(should),
    minShould: should.length === 0 ? 0 : least,
    mustNot: treesOf(mustNot),
    filter: treesOf(filter),
    boost: factor,
  }
}

function jsonOf({
  must,
  should,
  mustNot,
  filter,
  minShould,
  isBare,
  boost: factor,
}: Parts): Printed {
  return {
    must: bare(must, isBare && !isSpread(must, 'must')) ?? listed('conjuncts', must),
    should: should.length === 0 ? undefined : { ...listed('disjuncts', should), min: minShould },
    must_not: bare(mustNot, isBare && !isSpread(mustNot, 'should')) ?? listed('disjuncts', mustNot),
    filter: filter[0]?.json,
    boost: factor,
  }
}

function bare(samples: readonly Sample[], isWanted: boolean): Printed | undefined {
  return isWanted && samples.length === 1 ? samples[0]?.json : undefined
}

/** Whether a query is nothing but such a list, which stands for its parts. */
function isSpread([first]: readonly Sample[], list: 'must' | 'should'): boolean {
  if (first?.tree.kind !== 'boolean') return false
  const { must, should, mustNot, filter, minShould } = first.tree
  const others = list === 'must' ? should : must
  const isPure = others.length + mustNot.length + filter.length === 0
  return isPure && (list === 'must' ? must.length > 0 : minShould === 1)
}

function listed(name: string, samples: readonly Sample[]): Printed | undefined {
  return samples.length === 0 ? undefined : { [name]: samples.map(({ json }) => json) }
}

function expectReadBack({ tree, json }: Sample): void {
  expect(parseQuery(parseExact(JSON.stringify(json)), 'q')).to.deep.equal(tree)
}

describe('the JSON query language', () => {
  it('agrees with the contract', () => {
    const ajv = new Ajv2020.default({ strict: false })
    ajv.addSchema(loadContract('store.v1').document, 'contract')
    const validate = ajv.compile({ $ref: 'contract#/components/schemas/DocumentFilter' })
    const isDescribed = ({ json }: Sample): void => {
      const value: unknown = JSON.parse(JSON.stringify(json))
      expect(validate(value), JSON.stringify(validate.errors)).to.equal(true)
    }

    fc.assert(fc.property(sampleTree(2), isDescribed), { numRuns: 1000 })
  })

  it('reads back the tree that was printed', () => {
    fc.assert(fc.property(sampleTree(3), expectReadBack), { numRuns: 3000 })
  })

  for (const [name, leaf] of Object.entries(LEAVES)) {
    it(`reads back ${name}`, () => {
      fc.assert(fc.property(leaf, expectReadBack), { numRuns: 300 })
    })
  }
})
