// The log-probabilities of a drawn token and of the likeliest tokens at its place.
//
// They are natural logarithms of the softmax over all logits, before penalties, temperature and cuts.
// So they depend only on the model, not on the sampling.

import { largestIndexes } from '../largest-indexes.ts'

/** A token with its log-probability. */
export interface TokenLogprob {
  /** The text that the token adds; '' for a part of a character. */
  readonly text: string
  /** The bytes of the token alone. A part of a character has bytes but no text. */
  readonly bytes: readonly number[]
  readonly logprob: number
}

/** The token that was drawn. */
export interface DrawnToken extends TokenLogprob {
  /** The likeliest tokens at this place, the likeliest first. */
  readonly top: readonly TokenLogprob[]
}

/** The value for a token that the model rules out, because JSON has no infinity. */
const LOGPROB_MIN = -9999

/** Describes a drawn token with the `topCount` likeliest ones. `spell` gives a token's text and bytes. */
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

/**
 * ln(Σ eˣ), relative to the largest, so that it cannot overflow. Values that are not numbers are
 * skipped.
 */
function logSumExp(logits: Float32Array): number {
  let largest = -Infinity
  for (const logit of logits) if (logit > largest) largest = logit
  let sum = 0
  for (const logit of logits) if (logit > -Infinity) sum += Math.exp(logit - largest)
  return largest + Math.log(sum)
}
