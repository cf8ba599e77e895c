// One question to several indexes of a worker: one message, and one answer. The indexes are asked one after the
// other, so that each may be told what the ones before it have found.

import type { ErrorCode, ServiceError } from '../../../lib/errors.ts'
import type { Sliced } from '../../../lib/sliced.ts'
import { sentError } from '../../../lib/worker-calls.ts'
import type { AnswerJoin, IndexEngine } from '../host/index-engine.ts'
import type { JoinedAnswer, RequestOf } from '../host/protocol.ts'
import { unlessStopped } from '../host/stop-flag.ts'
import { serviceErrorOf } from './service-error-of.ts'

/** What ends the question. Any other failure is that of one index. */
const ENDS_QUESTION: ReadonlySet<ErrorCode> = new Set<ErrorCode>([
  'INVALID_ARGUMENT',
  'DEADLINE_EXCEEDED',
  'CANCELLED',
])

/** The indexes of the worker, and who joins their answers. */
export interface TogetherParts {
  readonly join: AnswerJoin
  /** Throws what the index answers everything with if it is not open. */
  engineOf(index: number): Pick<IndexEngine, 'answer'>
  onDamaged(index: number, error: ServiceError): void
}

/** An index that fails does not keep the others from answering. */
export function* answerTogether(
  { indexes, asked, stop }: RequestOf<'together'>,
  parts: TogetherParts,
): Sliced<JoinedAnswer> {
  const { question } = asked
  const { join } = parts
  const refused: JoinedAnswer['refused'][number][] = []
  for (const index of indexes) {
    try {
      const answer = parts.engineOf(index).answer({ question, request: join.request })
      yield* join.add(yield* unlessStopped(answer, stop))
    } catch (error) {
      const failure = serviceErrorOf(error)
      if (ENDS_QUESTION.has(failure.code)) throw failure
      if (failure.code === 'CORRUPTION') parts.onDamaged(index, failure)
      refused.push({ index, error: sentError(failure) })
    }
    yield
  }
  const hasAnswer = refused.length < indexes.length
  return { answer: hasAnswer ? yield* unlessStopped(join.answer(), stop) : undefined, refused }
}
