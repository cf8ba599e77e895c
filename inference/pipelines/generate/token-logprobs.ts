// How likely the model found each token that was drawn, and which it found likelier or nearly so.
//
// The numbers are the model's own: natural logarithms of the softmax over all logits, before
// penalties, temperature and cuts, so that they do not depend on how the token was drawn.

import { largestIndexes } from '../largest-indexes.ts'

export interface TokenLogprob {
  /** What the token adds to the text; '' for a part of a character. */
  readonly text: string
  /** Of the token alone: a part of a character has bytes, and no text. */
  readonly bytes: readonly number[]
  readonly logprob: number
}

export interface DrawnToken extends TokenLogprob {
  /** The likeliest tokens at this place, the likeliest first. */
  readonly top: readonly TokenLogprob[]
}

/** Stands for a token that the model rules out: JSON has no infinity. */
const LOGPROB_MIN = -9999

export function describeDrawn(
  logits: Float32Array,
  { id, topCount }: { readonly id: number; readonly topCount: number },
  spell: (id: number) => Omit<TokenLogprob, 'logprob'>,
): DrawnToken {
  const logSum = logSumExp(logits)
  const describe = (each: number): TokenLogprob => {
    const logprob = (logits[each] ?? -Infinity) - logSum
    return { ...spell(each), logprob: logprob > LOGPROB_MIN ? logprob : LOGPROB_MIN }
  }
  const top = topCount === 0 ? [] : largestIndexes(logits, topCount)
  return { ...describe(id), top: top.map(describe) }
}

/** ln(Σ eˣ), from the largest on, so that nothing overflows; what is no number does not count. */
function logSumExp(logits: Float32Array): number {
  let largest = -Infinity
  for (const logit of logits) if (logit > largest) largest = logit
  let sum = 0
  for (const logit of logits) if (logit > -Infinity) sum += Math.exp(logit - largest)
  return largest + Math.log(sum)
}
