import type { Sliced } from '../../../lib/sliced.ts'
import { unpackAnswer, type PackedAnswer } from '../text/search/packed-answer.ts'

/**
 * An answer as another node may read it. Answers with many buckets come from a worker in the format of
 * this version of Node (packed-answer.ts), which an older one cannot read.
 */
export function* portableAnswer(answer: unknown): Sliced<unknown> {
  return isPacked(answer) ? yield* unpackAnswer(answer) : answer
}

function isPacked(answer: unknown): answer is PackedAnswer {
  return typeof answer === 'object' && answer !== null && 'packed' in answer
}
