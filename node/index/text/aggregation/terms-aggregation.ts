// The most frequent terms of fields.
//
// Counts are exact if each shard has at most SHARD_TERMS_MAX terms (SHARD_TERMS_WITH_SUB_MAX with
// sub-aggregations), because each shard then reports the counts of all its terms. Otherwise a shard
// reports its most frequent terms, and its partial is marked as cut. So it is where a shard has more than
// COUNTED_TERMS_MAX (term-counts.ts).

import { EXACT_SUFFIX } from '../mapping/field-names.ts'
import type { Sliced } from '../../../../lib/sliced.ts'
import type { BucketAggregation } from '../../../query/request/aggregation-request.ts'
import type { ColumnReader } from '../segment/column.ts'
import type { SegmentField } from '../segment/segment.ts'
import { exactKeys } from './exact-values.ts'
import type { AggregationContext, BucketWalk, GatherSub } from './aggregation-context.ts'
import { byCount, type BucketKey, type BucketsPartial } from './aggregation-partial.ts'
import { walkValues, type DocSet, type SegmentDocs } from './doc-set.ts'
import { gatherBuckets } from './gather-buckets.ts'
import { firstInSteps } from './sorted-in-steps.ts'
import { TermCounts } from './term-counts.ts'

export const SHARD_TERMS_MAX = 65_536
const SHARD_TERMS_WITH_SUB_MAX = 1000

/** The cost of reading a term's text. */
const TERM_COST = 64
/** The cost of a term that is read behind the one before it. */
const WALKED_TERM_COST = 8
/** Texts of a segment's terms that a walk keeps, because documents share them. */
const REMEMBERED_TERMS_MAX = 65_536
/**
 * For fewer documents than this share of a column's terms, looking up their terms one by one costs less than a
 * count for every term of the column.
 */
const DENSE_SHARE = 1 / 16
/** Counts that are looked at between two pauses, and their cost. */
const SCAN_TERMS = 4096
const SCAN_COST = 512

type TermsRequest = Extract<BucketAggregation, { readonly kind: 'terms' }>

export function* gatherTerms(
  context: AggregationContext,
  request: TermsRequest,
  { set, sub }: { readonly set: DocSet; readonly sub: GatherSub | undefined },
): Sliced<BucketsPartial> {
  const fields = termColumns(context, request)
  const counts = yield* countTerms(context, fields, set)
  const count = keptMax(context, request.size, sub !== undefined)
  const kept = yield* firstInSteps(countedTerms(counts), byCount, { count, poll: context.poll })
  const isCut = counts.isCut || (!context.source.isWhole && kept.length < counts.byKey.size)
  const empty = { backgroundCount: 0, sub: new Map() }
  const buckets =
    sub === undefined
      ? kept.map((one) => ({ ...one, ...empty }))
      : yield* withSub(context, set, { fields, kept: new Set(kept.map(({ key }) => key)), sub })
  return { kind: 'buckets', buckets, isCut, foundCount: 0, backgroundCount: 0 }
}

function* countedTerms({
  byKey,
}: TermCounts): Generator<{ readonly key: BucketKey; readonly docCount: number }> {
  for (const [key, docCount] of byKey) yield { key, docCount }
}

/**
 * How many terms a shard keeps. A single shard keeps the result; with other shards, a term may be
 * more frequent there.
 */
export function keptMax(context: AggregationContext, size: number, hasSub: boolean): number {
  // One more tells that the result is cut.
  if (context.source.isWhole) return size + 1
  return Math.max(size, hasSub ? SHARD_TERMS_WITH_SUB_MAX : SHARD_TERMS_MAX)
}

/** The index fields that hold the terms. */
export function termColumns(
  context: AggregationContext,
  { kind, fields }: { readonly kind: string; readonly fields: readonly string[] },
): readonly string[] {
  const needs = `${kind} needs keywords, numbers or dates`
  const found = fields.map((name) => context.column(name, needs, ['keyword', 'number']))
  return [...new Set(found.flatMap((one) => (one === undefined ? [] : [one.indexField])))]
}

export function withSub(
  context: AggregationContext,
  set: DocSet,
  options: {
    readonly fields: readonly string[]
    readonly kept: ReadonlySet<BucketKey>
    readonly sub: GatherSub
  },
) {
  const { fields, kept, sub } = options
  const walk: BucketWalk<BucketKey> = (part, visit) =>
    walkTerms(context, part, {
      fields,
      visit: (key, doc) => {
        if (kept.has(key)) visit(key, doc)
      },
    })
  return gatherBuckets(context, set, { walk, sub })
}

/** Counts the documents of the set that have each term. */
export function* countTerms(
  context: AggregationContext,
  fields: readonly string[],
  set: DocSet,
): Sliced<TermCounts> {
  const counts = new TermCounts()
  for (const part of set) {
    for (const field of fields.flatMap((name) => [name, name + EXACT_SUFFIX])) {
      yield* part.segment.field(field)?.prepareTerms() ?? []
    }
    const [field, ...others] = fields.flatMap((name) => part.segment.field(name) ?? [])
    const column = field?.column
    if (column?.kind === 'keyword' && others.length === 0 && isDense(part, column)) {
      yield* countOrdinals(context, part, { field, column, counts })
    } else {
      yield* walkTerms(context, part, { fields, visit: (key) => counts.add(key, 1), counts })
    }
  }
  return counts
}

function* countOrdinals(
  context: AggregationContext,
  { docs, segment }: SegmentDocs,
  options: {
    readonly field: SegmentField | undefined
    readonly column: ColumnReader
    readonly counts: TermCounts
  },
): Sliced<void> {
  const { field, column, counts } = options
  const byOrdinal = new Uint32Array(column.ordinalCount)
  const visit = (_doc: number, values: Float64Array, from: number, to: number): void => {
    let last = -1
    for (let i = from; i < to; i += 1) {
      const ordinal = values[i] ?? 0
      if (ordinal !== last) byOrdinal[ordinal] = (byOrdinal[ordinal] ?? 0) + 1
      last = ordinal
    }
  }
  yield* walkValues(docs, column, { poll: context.poll, visit })
  // A walk in order reads each block of the dictionary once. The terms of a growing segment move meanwhile.
  if (segment.isKeyOrdered && field !== undefined) {
    yield* addInOrder(context, field.entriesFrom(''), { byOrdinal, counts })
    return
  }
  for (const [ordinal, count] of byOrdinal.entries()) {
    if (ordinal % SCAN_TERMS === 0 && context.poll.spend(SCAN_COST)) yield context.poll.renewed()
    if (count === 0) continue
    counts.add(column.termOf(ordinal), count)
    if (context.poll.spend(TERM_COST)) yield context.poll.renewed()
    if (counts.isFull) yield* counts.cut(context.poll)
  }
}

function* addInOrder(
  { poll }: AggregationContext,
  terms: Iterable<{ readonly text: string }>,
  { byOrdinal, counts }: { readonly byOrdinal: Uint32Array; readonly counts: TermCounts },
): Sliced<void> {
  let ordinal = 0
  for (const { text } of terms) {
    const count = byOrdinal[ordinal] ?? 0
    ordinal += 1
    if (count > 0) counts.add(text, count)
    if (poll.spend(WALKED_TERM_COST)) yield poll.renewed()
    if (counts.isFull) yield* counts.cut(poll)
  }
}

function isDense({ docs }: SegmentDocs, { ordinalCount }: ColumnReader): boolean {
  return docs.length >= ordinalCount * DENSE_SHARE
}

/** Visits every term of every document once, also if several fields have it. */
function* walkTerms(
  context: AggregationContext,
  part: SegmentDocs,
  options: {
    readonly fields: readonly string[]
    readonly visit: (key: BucketKey, doc: number) => void
    readonly counts?: TermCounts
  },
): Sliced<void> {
  const { counts } = options
  const readers = options.fields.flatMap((field): readonly TermReader[] => {
    const column = part.segment.field(field)?.column
    const exact = part.segment.field(field + EXACT_SUFFIX)?.column
    return column === undefined ? [] : [{ column, exact, terms: new Map<number, string>() }]
  })
  for (const doc of part.docs) {
    const seen = new Set<BucketKey>()
    for (const reader of readers) addKeys(seen, reader, doc)
    for (const key of seen) options.visit(key, doc)
    if (context.poll.spend((1 + seen.size) * TERM_COST)) yield context.poll.renewed()
    if (counts?.isFull === true) yield* counts.cut(context.poll)
    for (const { terms } of readers) if (terms.size > REMEMBERED_TERMS_MAX) terms.clear()
  }
}

interface TermReader {
  readonly column: ColumnReader
  /** All numbers of a document that has one beyond doubles. */
  readonly exact: ColumnReader | undefined
  readonly terms: Map<number, string>
}

function addKeys(keys: Set<BucketKey>, { column, exact, terms }: TermReader, doc: number): void {
  if (exact !== undefined && exact.count(doc) > 0) {
    for (const key of exactKeys(exact, doc)) keys.add(key)
    return
  }
  const count = column.count(doc)
  for (let i = 0; i < count; i += 1) keys.add(keyOf(column, terms, column.value(doc, i)))
}

function keyOf(column: ColumnReader, terms: Map<number, string>, value: number): BucketKey {
  if (column.kind !== 'keyword') return value
  const known = terms.get(value)
  if (known !== undefined) return known
  const term = column.termOf(value)
  terms.set(value, term)
  return term
}
