// Requests and answers on their way between nodes.

import type { Sliced } from '../../../lib/sliced.ts'
import type { ForeignQuestion } from '../host/index-kind.ts'
import { descriptorOf } from './index-kinds.ts'
import type { IndexAnswer, IndexRequest, QueryableKind, QuestionOf } from './index-questions.ts'

/** Any question to any kind of index. */
export type AnyIndexRequest = IndexRequest<QueryableKind, QuestionOf<QueryableKind>>

/** A question that came from another node, to an index of a kind that this one may not know. */
export interface ForeignRequest extends ForeignQuestion {
  readonly kind: string
}

/** Whether an index of the kind can read the request. */
export function isIndexRequest(asked: ForeignRequest): asked is ForeignRequest & AnyIndexRequest {
  return descriptorOf(asked.kind)?.isRequest(asked) === true
}

/** Answers are not looked at: the nodes of a cluster trust each other's indexes. */
export function isAnswerTo<Kind extends QueryableKind, Name extends QuestionOf<Kind>>(
  _asked: IndexRequest<Kind, Name>,
  answer: unknown,
): answer is IndexAnswer<Kind, Name> {
  return answer !== undefined
}

/** An answer of an index of the kind, as another node may read it. */
export function* portableAnswer(kind: string, answer: unknown): Sliced<unknown> {
  const descriptor = descriptorOf(kind)
  return descriptor?.portable === undefined ? answer : yield* descriptor.portable(answer)
}
