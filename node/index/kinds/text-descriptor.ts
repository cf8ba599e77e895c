import { ServiceError } from '../../../lib/errors.ts'
import { joinAnswers } from '../text/search/join-answers.ts'
import { unpackAnswer, type PackedAnswer } from '../text/search/packed-answer.ts'
import { isTextRequest } from '../text/search/text-request-shape.ts'
import type { TextAsked, TextQuestions } from '../text/search/text-questions.ts'
import type { IndexDescriptor } from './index-descriptor.ts'

/** Full-text indexes; their engine is text/hosted/text-engine.ts. */
export const TEXT_INDEX: IndexDescriptor<'text', TextQuestions> = {
  type: 'full_text',
  kind: 'text',
  feed: 'documents',
  searchedBy: 'words',
  settings: { parse: refuseSettings, show: () => ({}) },
  isEnriched: () => false,
  isRequest: isTextRequest,
  // A worker's answer is in a form of this version (packed-answer.ts), which an older one cannot read.
  *portable(answer) {
    return isPacked(answer) ? yield* unpackAnswer(answer) : answer
  },
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

function refuseSettings(members: Readonly<Record<string, unknown>>, where: string): undefined {
  const [unknown] = Object.keys(members)
  if (unknown === undefined) return
  const problem = `"${unknown.slice(0, 128)}" is not a setting of a full_text index; leave it out`
  throw new ServiceError('INVALID_ARGUMENT', `${where}: ${problem}`)
}

/** Only the answer to a search has aggregations; the list of them may be empty. */
function isPacked(answer: unknown): answer is PackedAnswer {
  return typeof answer === 'object' && answer !== null && 'aggregations' in answer
}
