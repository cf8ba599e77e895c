// One answer of the text indexes of several shards, which are searched one after the other.
//
// Invariants:
//   TJ1  The hits are those of all answers, merged, and as many as one of the indexes may give.
//   TJ2  A search is told the last of them when there are enough: what comes behind it is in no page.

import { ServiceError } from '../../../../lib/errors.ts'
import type { Sliced } from '../../../../lib/sliced.ts'
import type { AnswerJoin } from '../../host/index-engine.ts'
import type { AggregationPartials } from '../aggregation/aggregation-partial.ts'
import { mergePartialsSliced } from '../aggregation/merge-partials.ts'
import { mergePages } from './join-answers.ts'
import { mergeStatistics } from './merge-statistics.ts'
import { packAnswer, unpackAnswer, type PackedAnswer } from './packed-answer.ts'
import type {
  TextHit,
  TextSearchRequest,
  TextStatistics,
  TextStatisticsRequest,
} from './text-search.ts'
import type { TextAsked } from './text-questions.ts'
import { unanimous } from './unanimous.ts'

/** The aggregations of 32 answers are merged at once: each merge walks all that is merged already. */
const WAITING_MAX = 32

/** Joins the answers to the questions that are asked of several text indexes at once. */
export function joinText(asked: TextAsked): AnswerJoin {
  if (asked.question === 'search') return new SearchJoin(asked.request)
  if (asked.question === 'statistics') return new StatisticsJoin(asked.request)
  throw new ServiceError('INVALID_ARGUMENT', `"${asked.question}" is asked of one index`)
}

class SearchJoin implements AnswerJoin {
  readonly #request: TextSearchRequest
  #hits: readonly TextHit[] = []
  #total = 0
  #aggregations: AggregationPartials[] = []
  #warnings: readonly string[] | undefined

  constructor(request: TextSearchRequest) {
    this.#request = request
  }

  /** TJ2. */
  get request(): TextSearchRequest {
    const { limit, kind } = this.#request.window
    if (limit === 0 || this.#hits.length < limit) return this.#request
    const bound = kind === 'before' ? this.#hits[0] : this.#hits.at(-1)
    return { ...this.#request, bound }
  }

  *add(packed: PackedAnswer): Sliced<void> {
    const { hits, total, aggregations, warnings } = yield* unpackAnswer(packed)
    if (hits.length > 0) this.#hits = yield* mergePages(this.#request, [this.#hits, hits])
    this.#total += total
    this.#warnings = unanimous([{ warnings: this.#warnings ?? warnings }, { warnings }])
    if (aggregations.size === 0) return
    this.#aggregations.push(aggregations)
    if (this.#aggregations.length >= WAITING_MAX) yield* this.#mergeAggregations()
  }

  *answer(): Sliced<PackedAnswer> {
    yield* this.#mergeAggregations()
    const hits = this.#hits
    return yield* packAnswer({
      hits,
      total: this.#total,
      maxScore: hits.reduce((most, { score }) => Math.max(most, score), 0),
      aggregations: this.#aggregations[0] ?? new Map(),
      warnings: this.#warnings ?? [],
    })
  }

  *#mergeAggregations(): Sliced<void> {
    if (this.#aggregations.length < 2) return
    this.#aggregations = [yield* mergePartialsSliced(this.#aggregations)]
  }
}

class StatisticsJoin implements AnswerJoin {
  readonly request: TextStatisticsRequest
  readonly #all: TextStatistics[] = []

  constructor(request: TextStatisticsRequest) {
    this.request = request
  }

  *add(statistics: TextStatistics): Sliced<void> {
    this.#all.push(statistics)
    if (this.#all.length < WAITING_MAX) return
    this.#all.splice(0, WAITING_MAX, mergeStatistics(this.#all))
    yield
  }

  *answer(): Sliced<TextStatistics> {
    yield
    return mergeStatistics(this.#all)
  }
}
