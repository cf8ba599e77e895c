// A text on its way through the normalizer, with the way back: each UTF-16 code unit of the
// normalized text knows which part of the original it came from.
//
//   original    É      t  é
//   normalized  e      t  e
//   starts      0      1  2
//   ends        1      2  3
//
// Invariants:
//   A1  `starts` and `ends` have one entry for each code unit of `text`.
//   A2  Both are non-decreasing, and `starts[i] <= ends[i]`.

import { assert } from '../../lib/assert.ts'

export interface AlignedText {
  readonly text: string
  readonly starts: Int32Array
  readonly ends: Int32Array
}

/** A base character with its marks, or a syllable's letters: what normal forms compose. */
const UNIT = /[\u1100-\u115f][\u1160-\u11ff]*|[^\p{M}]?\p{M}+|./gsu
/** How far the two texts may drift apart between two places where they agree. */
const DRIFT_MAX = 64

export function alignOriginal(text: string): AlignedText {
  return {
    text,
    starts: Int32Array.from({ length: text.length }, (_, at) => at),
    ends: Int32Array.from({ length: text.length }, (_, at) => at + 1),
  }
}

export function sliceAligned(aligned: AlignedText, start: number, end: number): AlignedText {
  return {
    text: aligned.text.slice(start, end),
    starts: aligned.starts.subarray(start, end),
    ends: aligned.ends.subarray(start, end),
  }
}

/** Applies one stage. Stages that only look at one unit at a time are aligned exactly. */
export function applyStage(input: AlignedText, stage: (text: string) => string): AlignedText {
  const whole = stage(input.text)
  if (whole === input.text) return input
  const byUnits = applyByUnits(input, stage)
  return byUnits.text === whole ? byUnits : alignByAgreement(input, whole)
}

function applyByUnits(input: AlignedText, stage: (text: string) => string): AlignedText {
  const pieces: string[] = []
  const starts: number[] = []
  const ends: number[] = []
  for (const { 0: unit, index } of input.text.matchAll(UNIT)) {
    const piece = stage(unit)
    const start = input.starts[index] ?? 0
    const end = input.ends[index + unit.length - 1] ?? start
    const isSame = piece.length === unit.length
    pieces.push(piece)
    for (let at = 0; at < piece.length; at += 1) {
      starts.push(isSame ? (input.starts[index + at] ?? start) : start)
      ends.push(isSame ? (input.ends[index + at] ?? end) : end)
    }
  }
  return { text: pieces.join(''), starts: Int32Array.from(starts), ends: Int32Array.from(ends) }
}

/** Walks both texts and, where they part, goes on at the nearest place where they agree again. */
function alignByAgreement(input: AlignedText, output: string): AlignedText {
  const starts = new Int32Array(output.length)
  const ends = new Int32Array(output.length)
  let from = 0
  let to = 0
  while (to < output.length) {
    const { skipped, added } = nextAgreement(input.text.slice(from, from + DRIFT_MAX), output, to)
    const start = startAt(input, from)
    from += skipped
    const end = skipped === 0 ? start : (input.ends[from - 1] ?? start)
    starts.fill(start, to, to + added)
    ends.fill(end, to, to + added)
    to += added
    if (to < output.length) {
      starts[to] = startAt(input, from)
      ends[to] = input.ends[from] ?? startAt(input, from)
      from = Math.min(from + 1, input.text.length)
      to += 1
    }
  }
  assert(starts.length === output.length, 'A1: every code unit is aligned')
  return { text: output, starts, ends }
}

function startAt(input: AlignedText, at: number): number {
  return input.starts[at] ?? input.ends.at(-1) ?? 0
}

function nextAgreement(
  ahead: string,
  output: string,
  to: number,
): { skipped: number; added: number } {
  const outputAhead = output.slice(to, to + DRIFT_MAX)
  for (let drift = 0; drift < Math.max(ahead.length, outputAhead.length); drift += 1) {
    for (let added = 0; added <= drift; added += 1) {
      const skipped = drift - added
      if (
        added < outputAhead.length &&
        ahead.startsWith(outputAhead.slice(added, added + 1), skipped) &&
        skipped < ahead.length
      ) {
        return { skipped, added }
      }
    }
  }
  // Nothing agrees: one character stands for one character.
  return { skipped: 0, added: 0 }
}
