// A search of which another thread answers the sealed segments.
//
// Invariants:
//   DS1  Both parts are of one moment, and no document is in both.
//   DS2  Both parts score by the statistics of the whole index. What an answer draws from the terms of
//        all documents besides (fuzzy phrases, the most frequent terms) is not divided.

import type { Sliced } from '../../../../lib/sliced.ts'
import type {
  AggregationRequest,
  Aggregations,
} from '../../../query/request/aggregation-request.ts'
import type { DividedAnswer } from '../../host/index-engine.ts'
import type { SearchSnapshot } from '../engine/search-snapshot.ts'
import type { TextIndex } from '../engine/text-index.ts'
import type { FieldMapping } from '../mapping/field-mapping.ts'
import { ConditionResolver } from '../search/condition-resolver.ts'
import { packAnswer, type PackedAnswer } from '../search/packed-answer.ts'
import { searchSnapshot, tellsStatistics } from '../search/run-text-search.ts'
import type { TextSearchRequest, TextStatistics } from '../search/text-search.ts'
import { describePart, type DescribedIndex, type ReaderKnowledge } from './sealed-part.ts'

/** The index that is searched. */
export interface DividedIndex extends Omit<DescribedIndex, 'view' | 'fields'> {
  readonly index: TextIndex
  readonly mapping: FieldMapping
  /** Searches that look at fewer documents are not divided while something is in memory. */
  readonly costMin: number
}

/** Divides what can be divided, and answers the rest by itself. */
export function* divideSearch(
  divided: DividedIndex,
  request: TextSearchRequest,
  known: ReaderKnowledge | undefined,
): Sliced<DividedAnswer> {
  const { index, mapping, costMin } = divided
  const whole = index.snapshot()
  const { view, memory } = index.snapshotInParts()
  let isHandedOver = false
  try {
    const own = yield* ownPart({ whole, memory, mapping, costMin }, request)
    if (own.kind === 'whole') return { kind: 'whole', answer: own.answer }
    const described = { ...divided, fields: mapping.fields, view: view.description }
    const sealed = describePart(described, known, own.statistics)
    isHandedOver = true
    const release = (): void => view.release()
    return { kind: 'divided', part: own.answer, sealed, known: sealed.knowledge, release }
  } finally {
    memory.release()
    whole.release()
    if (!isHandedOver) view.release()
  }
}

interface Snapshots {
  readonly whole: SearchSnapshot
  readonly memory: SearchSnapshot
  readonly mapping: FieldMapping
  readonly costMin: number
}

type OwnPart =
  | { readonly kind: 'whole'; readonly answer: PackedAnswer }
  | {
      readonly kind: 'memory'
      /** Undefined if nothing is in memory. */
      readonly answer: PackedAnswer | undefined
      readonly statistics: TextStatistics | undefined
    }

/** A reader answers then as if the sealed segments were all: nothing has to be summed. */
const NOTHING_OWN: OwnPart = { kind: 'memory', answer: undefined, statistics: undefined }

function* ownPart(held: Snapshots, request: TextSearchRequest): Sliced<OwnPart> {
  const { whole, memory, mapping } = held
  if (memory.segments.length === 0) return NOTHING_OWN
  const isAllInMemory = whole.segments.length === memory.segments.length
  if (isAllInMemory || ranksTerms(request.aggregations)) return yield* wholeAnswer(held, request)
  const resolver = new ConditionResolver(whole, mapping)
  const { query } = yield* resolver.match(request.conditions, request.nowMs)
  if (resolver.hasExpanded) return yield* wholeAnswer(held, request)
  const statistics = request.statistics ?? (yield* whole.queryStatistics(query))
  if (costOf(request, statistics, whole) < held.costMin) {
    return yield* wholeAnswer(held, request)
  }
  const answer = yield* searchSnapshot(memory, mapping, { ...request, statistics })
  const told = tellsStatistics(request) ? { ...answer, statistics } : answer
  return { kind: 'memory', answer: yield* packAnswer(told), statistics }
}

function* wholeAnswer({ whole, mapping }: Snapshots, request: TextSearchRequest): Sliced<OwnPart> {
  const answer = yield* searchSnapshot(whole, mapping, request)
  return { kind: 'whole', answer: yield* packAnswer(answer) }
}

/** How many documents a search looks at, roughly. */
function costOf(
  { conditions, order, aggregations }: TextSearchRequest,
  { docFreqs, expansions }: TextStatistics,
  { segments }: SearchSnapshot,
): number {
  const { query, filter, exclusion, keyPrefix } = conditions
  const isFiltered = filter !== undefined || exclusion !== undefined || keyPrefix !== undefined
  const isOrdered = order.length > 0 && order[0]?.field !== '_score'
  const looksAtAll = query === undefined ? isOrdered || aggregations.size > 0 : docFreqs.size === 0
  const found = docFreqs.values().reduce((sum, count) => sum + count, 0)
  if (!isFiltered && !looksAtAll && expansions.size === 0) return found
  return found + segments.reduce((sum, { liveCount }) => sum + liveCount, 0)
}

/** A part would have to tell of all its terms, so that their counts can be added up. */
function ranksTerms(aggregations: Aggregations): boolean {
  return aggregations.values().some(isRankedByTerm)
}

function isRankedByTerm(request: AggregationRequest): boolean {
  if (request.kind === 'metric') return false
  if (request.kind === 'terms' || request.kind === 'significant-terms') return true
  return ranksTerms(request.sub)
}
