import type { IndexKind } from '../../host/index-kind.ts'
import { joinAnswers } from '../search/join-answers.ts'
import type { TextAsked } from '../search/text-search.ts'

/** Text indexes as the main thread knows them; their engine is text-engine.ts. */
export const TEXT_KIND: IndexKind = {
  type: 'full_text',
  cacheNames: ['pages', 'terms'],
  joined: new Set(['search', 'statistics']),
  division: { questions: new Set(['search']), join: joinAnswers },
  /** By the request alone: without the page asked for, the time, and what other shards count. */
  identityOf(_: TextAsked['question'], request: TextAsked['request']) {
    if ('order' in request) {
      const { conditions, order, aggregations } = request
      return [conditions, order, [...aggregations]]
    }
    return 'conditions' in request ? [request.conditions] : undefined
  },
}
