import { isSparseRequest } from '../sparse/hosted/sparse-request-shape.ts'
import { isTextRequest } from '../text/search/text-request-shape.ts'
import { isNearestRequest } from '../vector/hosted/vector-request-shape.ts'
import type { IndexAnswer, IndexRequest, QueryableKind, QuestionOf } from './index-questions.ts'

/** Any question to any kind of index. */
export type AnyIndexRequest = IndexRequest<QueryableKind, QuestionOf<QueryableKind>>

/** A question that came from another node, whose request may be anything. */
export interface ForeignRequest {
  readonly kind: string
  readonly question: string
  readonly request: unknown
}

type CheckRequest = (question: string, request: unknown) => boolean
/** By kind. */
const CHECKS: ReadonlyMap<string, CheckRequest> = new Map([
  ['text', isTextRequest],
  ['vectors', isVectorRequest],
])

function isVectorRequest(question: string, request: unknown): boolean {
  return question === 'nearest' && (isNearestRequest(request) || isSparseRequest(request))
}

/** Whether an index of the kind can read the request. */
export function isIndexRequest(asked: ForeignRequest): asked is ForeignRequest & AnyIndexRequest {
  return CHECKS.get(asked.kind)?.(asked.question, asked.request) === true
}

/** Answers are not looked at: the nodes of a cluster trust each other's indexes. */
export function isAnswerTo<Kind extends QueryableKind, Name extends QuestionOf<Kind>>(
  _asked: IndexRequest<Kind, Name>,
  answer: unknown,
): answer is IndexAnswer<Kind, Name> {
  return answer !== undefined
}
