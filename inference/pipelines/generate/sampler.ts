// Chooses the next token from a model's logits.
//
//   logits → penalties → temperature → top-k → softmax → top-p → draw
//
// A temperature of 0, or a top-k of 1, chooses the largest logit; of equals, the lowest id.

import { ServiceError } from '../../../lib/errors.ts'
import type { Random } from '../../../lib/random.ts'
import { largestIndexes } from '../largest-indexes.ts'

/** How a token is drawn. The meanings and defaults follow the common APIs. */
export interface SamplingSettings {
  readonly temperature: number
  /** The number of tokens that may be drawn; 0: all. */
  readonly topK: number
  readonly topP: number
  /** 1: no penalty. Above 1, tokens of the prompt and the answer become less likely. */
  readonly repetitionPenalty: number
  /** Subtracted from a token's logit for each of its occurrences in the answer. */
  readonly frequencyPenalty: number
  /** Subtracted once from the logit of every token in the answer. */
  readonly presencePenalty: number
}

/** The count of each token in the answer; 0 for a token that occurs only in the prompt. */
export type TokenHistory = ReadonlyMap<number, number>

/** The tokens that may be drawn, the likeliest first. Their probabilities sum to 1. */
export interface Candidates {
  readonly ids: readonly number[]
  readonly probabilities: readonly number[]
}

/**
 * The most tokens that are considered. The tokens beyond have almost no probability, and sorting a
 * whole vocabulary would take longer than a step of many models.
 */
const CANDIDATES_MAX = 4096

/** Draws one token id. Throws INFERENCE_FAILED when no logit is a number. */
export function sampleToken(
  logits: Float32Array,
  settings: SamplingSettings,
  { history, random }: { readonly history: TokenHistory; readonly random: Random },
): number {
  const { ids, probabilities } = buildCandidates(logits, settings, history)
  let rest = random()
  for (const [index, probability] of probabilities.entries()) {
    rest -= probability
    if (rest < 0) return ids[index] ?? 0
  }
  return ids.at(-1) ?? 0
}

/** The tokens that may be drawn after penalties, temperature, top-k and top-p. */
export function buildCandidates(
  logits: Float32Array,
  settings: SamplingSettings,
  history: TokenHistory,
): Candidates {
  const penalized = penalize(logits, settings, history)
  const isGreedy = settings.temperature === 0
  const count = isGreedy ? 1 : settings.topK === 0 ? CANDIDATES_MAX : settings.topK
  const ids = largestIndexes(penalized, Math.min(count, CANDIDATES_MAX))
  const largest = penalized[ids[0] ?? 0] ?? 0
  if (ids.length === 0) throw new ServiceError('INFERENCE_FAILED', 'the graph answered no logits')
  if (ids.length === 1) return { ids, probabilities: [1] }
  const weights = ids.map((id) =>
    Math.exp(((penalized[id] ?? -Infinity) - largest) / settings.temperature),
  )
  return cutAtMass(ids, weights, settings.topP)
}

function penalize(
  logits: Float32Array,
  { repetitionPenalty, frequencyPenalty, presencePenalty }: SamplingSettings,
  history: TokenHistory,
): Float32Array {
  if (repetitionPenalty === 1 && frequencyPenalty === 0 && presencePenalty === 0) return logits
  const penalized = logits.slice()
  for (const [id, times] of history) {
    const logit = penalized[id]
    if (logit === undefined) continue
    const repeated = logit > 0 ? logit / repetitionPenalty : logit * repetitionPenalty
    penalized[id] = repeated - times * frequencyPenalty - (times > 0 ? presencePenalty : 0)
  }
  return penalized
}

/** Keeps the likeliest tokens whose probabilities reach `topP` together, at least one. */
function cutAtMass(ids: readonly number[], weights: readonly number[], topP: number): Candidates {
  const wanted = topP * weights.reduce((sum, weight) => sum + weight, 0)
  let mass = 0
  let kept = 0
  while (kept < ids.length && (kept === 0 || mass < wanted)) {
    mass += weights[kept] ?? 0
    kept += 1
  }
  return {
    ids: ids.slice(0, kept),
    probabilities: weights.slice(0, kept).map((weight) => weight / mass),
  }
}
