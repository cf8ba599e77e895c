import { ServiceError } from '../../lib/errors.ts'

export function sigmoid(logit: number): number {
  return 1 / (1 + Math.exp(-logit))
}

/**
 * Replaces logits by probabilities, in place. It subtracts the largest first, so that nothing
 * overflows. Throws INFERENCE_FAILED for no logits, for NaN, and for only -Infinity.
 */
export function softmax(logits: Float64Array): Float64Array {
  const largest = logits.reduce((most, logit) => Math.max(most, logit), -Infinity)
  let sum = 0
  for (let index = 0; index < logits.length; index += 1) {
    const weight = Math.exp((logits[index] ?? -Infinity) - largest)
    logits[index] = weight
    sum += weight
  }
  if (!(sum > 0)) throw new ServiceError('INFERENCE_FAILED', NOT_NUMBERS)
  for (let index = 0; index < logits.length; index += 1) {
    logits[index] = (logits[index] ?? 0) / sum
  }
  return logits
}

export const NOT_NUMBERS = 'the model answered logits that are not finite numbers'

/** The index of the largest value; of equals, the lowest. */
export function argMax(values: ArrayLike<number>): number {
  let best = 0
  for (let index = 1; index < values.length; index += 1) {
    if ((values[index] ?? -Infinity) > (values[best] ?? -Infinity)) best = index
  }
  return best
}
