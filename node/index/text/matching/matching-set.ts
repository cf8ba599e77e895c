// The documents of one segment that match a query, as a bitmap without scores. Filters and
// exclusions use such bitmaps. They still contain deleted and expired documents.

import { unreachable } from '../../../../lib/assert.ts'
import type { Sliced } from '../../../../lib/sliced.ts'
import type { EngineQuery } from '../engine-query.ts'
import {
  fullBitset,
  intersect,
  newBitset,
  setBit,
  subtract,
  unite,
  type Bitset,
} from '../../encoding/bitset.ts'
import type { LiveSegment } from '../live/live-segment.ts'
import type { Poll } from '../poll.ts'
import { NO_MORE } from '../postings/postings-cursor.ts'
import { PAUSED, type Scorer } from './scorer.ts'
import { addPostings } from './term-set.ts'
import { testOf, type ColumnQuery } from './column-test.ts'
import { columnOf, columnSet, expandedSet, fieldSet, keyPrefixSet, keySet } from './set-query.ts'
import type { EngineQueryOf } from '../engine-query.ts'

type SetQuery = EngineQueryOf<'expand' | 'exists' | 'keys' | 'key-prefix'>
type BooleanQuery = EngineQueryOf<'boolean'>

const SET_KINDS: ReadonlySet<string> = new Set([
  'expand',
  'exists',
  'keys',
  'key-prefix',
] satisfies SetQuery['kind'][])

/** Words of a bitmap cost this much less than postings. */
const WORDS_PER_UNIT = 8

/** Whether a bitmap answers the query in any case. */
export function isSetQuery(query: EngineQuery): query is SetQuery {
  return SET_KINDS.has(query.kind)
}

export function isColumnQuery(query: EngineQuery): query is ColumnQuery {
  return query.kind === 'range' || query.kind === 'area'
}

/**
 * The segment that a set is made for, and how to walk the queries that have no postings of their
 * own.
 */
export interface SetScope {
  readonly live: LiveSegment
  readonly poll: Poll
  /** Builds the scorer of a part that must be walked: a phrase, or a choice among several parts. */
  readonly walk: (query: EngineQuery) => Sliced<Scorer>
}

export function* matchingSet(query: EngineQuery, scope: SetScope): Sliced<Bitset> {
  const { segment } = scope.live
  if (isSetQuery(query)) return yield* listedSet(query, scope)
  if (isColumnQuery(query)) {
    const column = columnOf(segment, query.field)
    return yield* columnSet(segment, { column, test: testOf(query) }, scope.poll)
  }
  if (query.kind === 'all') return fullBitset(segment.docCount)
  if (query.kind === 'term') return yield* termSet(query, scope)
  if (query.kind === 'boolean' && neededShould(query) <= 1) {
    return yield* booleanSet(query, scope)
  }
  return yield* walkedSet(query, scope)
}

function listedSet(query: SetQuery, { live: { segment }, poll }: SetScope): Sliced<Bitset> {
  switch (query.kind) {
    case 'expand':
      return expandedSet(segment, query, poll)
    case 'exists':
      return fieldSet(segment, query.field, poll)
    case 'keys':
      return keySet(segment, query.keys, poll)
    case 'key-prefix':
      return keyPrefixSet(segment, query.prefix, poll)
    default:
      return unreachable(query)
  }
}

function* termSet(
  { field, term }: EngineQueryOf<'term'>,
  { live, poll }: SetScope,
): Sliced<Bitset> {
  const bits = newBitset(live.segment.docCount)
  const found = live.term(field, term)
  if (found !== undefined) yield* addPostings(bits, found.source, poll)
  return bits
}

/** Holds two sets at a time for any number of parts: the result and the present part. */
function* booleanSet(query: BooleanQuery, scope: SetScope): Sliced<Bitset> {
  const { docCount } = scope.live.segment
  let result: Bitset | undefined
  for (const part of [...query.must, ...query.filter]) {
    result = yield* combined(intersect, result, yield* matchingSet(part, scope), scope)
  }
  if (neededShould(query) === 1) {
    let some = newBitset(docCount)
    for (const part of query.should) {
      some = yield* combined(unite, some, yield* matchingSet(part, scope), scope)
    }
    result = yield* combined(intersect, result, some, scope)
  }
  const isExclusion = result === undefined && query.mustNot.length > 0
  result ??= isExclusion ? fullBitset(docCount) : newBitset(docCount)
  for (const part of query.mustNot) {
    result = yield* combined(subtract, result, yield* matchingSet(part, scope), scope)
  }
  return result
}

/** Changes the first set, or is the second if there is no first. */
function* combined(
  combine: (bits: Bitset, other: Bitset) => void,
  bits: Bitset | undefined,
  other: Bitset,
  { poll }: SetScope,
): Sliced<Bitset> {
  if (bits === undefined) return other
  combine(bits, other)
  if (poll.spend(bits.length / WORDS_PER_UNIT)) yield poll.renewed()
  return bits
}

function* walkedSet(query: EngineQuery, { live, poll, walk }: SetScope): Sliced<Bitset> {
  const bits = newBitset(live.segment.docCount)
  const scorer = yield* walk(query)
  for (let doc = scorer.next(); doc !== NO_MORE; doc = scorer.next()) {
    if (doc !== PAUSED) setBit(bits, doc)
    if (poll.spend(1)) yield poll.renewed()
  }
  return bits
}

/**
 * How many of `should` a document must match: at least one if nothing else is required. A boolean
 * query with `mustNot` alone matches every other document, and one without any part nothing.
 */
export function neededShould(query: BooleanQuery): number {
  const isOptional = query.must.length > 0 || query.filter.length > 0
  const least = isOptional || query.should.length === 0 ? 0 : 1
  return Math.max(query.minShould, least)
}
