import type { Sliced } from '../../../lib/sliced.ts'
import { unpackAnswer, type PackedAnswer } from '../text/search/packed-answer.ts'

/**
 * An answer as another node may read it. Those of text indexes come from a worker in a form of this version
 * (packed-answer.ts), which an older one cannot read.
 */
export function* portableAnswer(answer: unknown): Sliced<unknown> {
  return isPacked(answer) ? yield* unpackAnswer(answer) : answer
}

/** Only the answer of a text index to a search has aggregations, or none of them. */
function isPacked(answer: unknown): answer is PackedAnswer {
  return typeof answer === 'object' && answer !== null && 'aggregations' in answer
}
