// Turns the logits of a GLiNER graph into candidate spans, for one row of `wordCount` words.

import { ServiceError } from '../../../lib/errors.ts'
import { NOT_NUMBERS, sigmoid } from '../probabilities.ts'
import type { SpanCandidate } from './span-selection.ts'

/** The logits of one row, row-major in the shape `dims`. */
export interface RowLogits {
  readonly dims: readonly number[]
  readonly values: Float32Array
}

/** Logits [words, width, labels]: one for each span, which begins at a word and has width + 1 words. */
export function decodeSpans(
  { dims, values }: RowLogits,
  wordCount: number,
  threshold: number,
): SpanCandidate[] {
  const [, widths, labels] = threeSizes(dims)
  const candidates: SpanCandidate[] = []
  const end = Math.min(values.length, wordCount * widths * labels)
  for (let index = 0; index < end; index += 1) {
    const score = scoreOfLogit(values[index])
    const span = Math.floor(index / labels)
    const firstWord = Math.floor(span / widths)
    const lastWord = firstWord + (span % widths)
    if (score <= threshold || lastWord >= wordCount) continue
    candidates.push({ firstWord, lastWord, label: index % labels, score })
  }
  return bestCandidates(candidates)
}

/**
 * Logits [words, labels, 3]: whether a word begins, ends or lies inside a span of a label. The score
 * of a span is the lowest score of its parts.
 */
export function decodeTokenSpans(
  { dims, values }: RowLogits,
  wordCount: number,
  threshold: number,
): SpanCandidate[] {
  const [, labels, parts] = threeSizes(dims)
  const candidates: SpanCandidate[] = []
  for (let index = 0; index < wordCount * labels; index += 1) {
    const label = index % labels
    const scoreOf = (word: number, part: number): number =>
      scoreOfLogit(values[(word * labels + label) * parts + part])
    const firstWord = Math.floor(index / labels)
    const begin = scoreOf(firstWord, BEGIN)
    if (begin <= threshold) continue
    let score = begin
    for (let lastWord = firstWord; lastWord < wordCount; lastWord += 1) {
      const inside = scoreOf(lastWord, INSIDE)
      score = Math.min(score, inside)
      if (inside < threshold) break
      const end = scoreOf(lastWord, END)
      if (end > threshold) {
        candidates.push({ firstWord, lastWord, label, score: Math.min(score, end) })
      }
    }
  }
  return bestCandidates(candidates)
}

function scoreOfLogit(logit: number = -Infinity): number {
  if (Number.isNaN(logit)) throw new ServiceError('INFERENCE_FAILED', NOT_NUMBERS)
  return sigmoid(logit)
}

const BEGIN = 0
const END = 1
const INSIDE = 2

/** Bounds the time of the selection, even if a graph finds every span likely. */
const CANDIDATES_MAX = 4096

function bestCandidates(candidates: readonly SpanCandidate[]): SpanCandidate[] {
  return candidates.length <= CANDIDATES_MAX
    ? [...candidates]
    : candidates.toSorted((left, right) => right.score - left.score).slice(0, CANDIDATES_MAX)
}

function threeSizes(dims: readonly number[]): [number, number, number] {
  const [first, second, third] = dims
  if (dims.length !== 3 || first === undefined || second === undefined || third === undefined) {
    throw new ServiceError('INFERENCE_FAILED', `the graph answered logits of ${dims.length} dims`)
  }
  return [first, second, third]
}
