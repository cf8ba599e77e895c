// The documents of one segment that match a query, whatever they score, as a bitmap: what filters and
// exclusions are made of. Deleted and expired documents are still in it.

import { unreachable } from '../../../../lib/assert.ts'
import type { EngineQuery } from '../engine-query.ts'
import {
  fullBitset,
  intersect,
  newBitset,
  setBit,
  subtract,
  unite,
  type Bitset,
} from '../engine/bitset.ts'
import type { LiveSegment } from '../engine/live-segment.ts'
import type { Poll } from '../engine/poll.ts'
import { NO_MORE } from '../postings/postings-cursor.ts'
import { addPostings } from './match-count.ts'
import type { Scorer } from './scorer.ts'
import {
  columnOf,
  columnSet,
  expandedSet,
  fieldSet,
  keyPrefixSet,
  keySet,
  keyText,
  testOf,
  type ColumnQuery,
  type QueryOf,
} from './set-query.ts'

type SetQuery = QueryOf<'expand' | 'exists' | 'keys' | 'key-prefix'>
type BooleanQuery = QueryOf<'boolean'>

const SET_KINDS: ReadonlySet<string> = new Set([
  'expand',
  'exists',
  'keys',
  'key-prefix',
] satisfies SetQuery['kind'][])

/** Queries that are answered by a bitmap anyhow. */
export function isSetQuery(query: EngineQuery): query is SetQuery {
  return SET_KINDS.has(query.kind)
}

export function isColumnQuery(query: EngineQuery): query is ColumnQuery {
  return query.kind === 'range' || query.kind === 'area'
}

export interface SetScope {
  readonly live: LiveSegment
  readonly poll: Poll
  /** For what has to be walked: phrases, and a choice of several parts. */
  readonly walk: (query: EngineQuery) => Scorer
}

export function matchingSet(query: EngineQuery, scope: SetScope): Bitset {
  const { segment } = scope.live
  if (isSetQuery(query)) return listedSet(query, scope)
  if (isColumnQuery(query)) {
    const column = columnOf(segment, query.field)
    return columnSet(segment, { column, test: testOf(query) }, scope.poll)
  }
  if (query.kind === 'all') return fullBitset(segment.docCount)
  if (query.kind === 'term') return termSet(query, scope)
  if (query.kind === 'boolean' && neededShould(query) <= 1) return booleanSet(query, scope)
  return walkedSet(query, scope)
}

function listedSet(query: SetQuery, { live: { segment }, poll }: SetScope): Bitset {
  switch (query.kind) {
    case 'expand':
      return expandedSet(segment, query, poll)
    case 'exists':
      return fieldSet(segment, query.field, poll)
    case 'keys':
      return keySet(segment, query.keys.map(keyText))
    case 'key-prefix':
      return keyPrefixSet(segment, keyText(query.prefix))
    default:
      return unreachable(query)
  }
}

function termSet({ field, term }: QueryOf<'term'>, { live, poll }: SetScope): Bitset {
  const bits = newBitset(live.segment.docCount)
  const found = live.term(field, term)
  if (found !== undefined) addPostings(bits, found.source, poll)
  return bits
}

function booleanSet(query: BooleanQuery, scope: SetScope): Bitset {
  const { docCount } = scope.live.segment
  const setOf = (part: EngineQuery): Bitset => matchingSet(part, scope)
  const required = [...query.must, ...query.filter].map(setOf)
  if (neededShould(query) === 1) {
    const some = newBitset(docCount)
    for (const part of query.should) unite(some, setOf(part))
    required.push(some)
  }
  const [first, ...others] = required
  const isExclusion = first === undefined && query.mustNot.length > 0
  const result = first ?? (isExclusion ? fullBitset(docCount) : newBitset(docCount))
  for (const set of others) intersect(result, set)
  for (const part of query.mustNot) subtract(result, setOf(part))
  return result
}

function walkedSet(query: EngineQuery, { live, poll, walk }: SetScope): Bitset {
  const bits = newBitset(live.segment.docCount)
  const scorer = walk(query)
  for (let doc = scorer.next(); doc !== NO_MORE; doc = scorer.next()) {
    setBit(bits, doc)
    poll.spend(1)
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
