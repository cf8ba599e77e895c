// The parts of one shard's answer, found in several threads, become the answer that one thread would have
// given.

import { must } from '../../../../lib/assert.ts'
import type { Sliced } from '../../../../lib/sliced.ts'
import { mergePartialsSliced } from '../aggregation/merge-partials.ts'
import { compareHits } from './hit-order.ts'
import { mergeHits, mergeLastHits } from './merge-hits.ts'
import { unpackAnswer, type PackedAnswer } from './packed-answer.ts'
import type { TextHit, TextSearchAnswer, TextSearchRequest } from './text-search.ts'

const BEST_FIRST = [{ field: '_score', isDescending: true }] as const

/** The hits of one answer to the request that is joined of others'. */
export function mergePages(
  { order, window }: Pick<TextSearchRequest, 'order' | 'window'>,
  lists: readonly (readonly TextHit[])[],
): Sliced<readonly TextHit[]> {
  const asked = order.length === 0 ? BEST_FIRST : order
  const compare = (a: TextHit, b: TextHit): number => compareHits(asked, a, b)
  const merge = window.kind === 'before' ? mergeLastHits : mergeHits
  return merge(lists, window.limit, compare)
}

/**
 * Joins the answers to one request of parts that have no document in common. Sums of fractions may differ
 * in their last bits from those that one thread adds up.
 */
export function* joinAnswers(
  request: TextSearchRequest,
  parts: readonly PackedAnswer[],
): Sliced<PackedAnswer> {
  const answers: TextSearchAnswer[] = []
  for (const part of parts) answers.push(yield* unpackAnswer(part))
  const lists = answers.map((answer) => answer.hits)
  const hits = yield* mergePages(request, lists)
  const statistics = answers.find((answer) => answer.statistics !== undefined)?.statistics
  return {
    hits,
    total: answers.reduce((sum, { total }) => sum + total, 0),
    maxScore: hits.reduce((most, { score }) => Math.max(most, score), 0),
    aggregations: yield* mergePartialsSliced(answers.map(({ aggregations }) => aggregations)),
    // What can match nothing does not depend on the documents: all parts say the same.
    warnings: must(answers[0], 'a part').warnings,
    // All parts score by the statistics of the whole index, which the request or the answer of one of them has.
    ...(statistics !== undefined && { statistics }),
  }
}
