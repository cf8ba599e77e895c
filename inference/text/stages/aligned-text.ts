// A text on its way through the stages of a tokenizer, with the way back: each UTF-16 code unit
// knows which part of the original it came from.
//
//   original    É      t  é
//   normalized  e      t  e
//   starts      0      1  2
//   ends        1      2  3
//
// Where nobody asks for places there are none, and stages cost no more than their strings.
//
// Invariants:
//   AT1  `starts` and `ends` have one entry for each code unit of `text`.
//   AT2  Both are non-decreasing, and `starts[i] <= ends[i]`.

import { assert } from '../../../lib/assert.ts'

export interface Places {
  readonly starts: Int32Array
  readonly ends: Int32Array
}

export interface AlignedText {
  readonly text: string
  readonly places: Places | undefined
  /** It begins where the original does. */
  readonly isFirst: boolean
}

/** What replaces `text.slice(start, end)`. */
export interface Edit {
  readonly start: number
  readonly end: number
  readonly content: string
}

export type TextStage = (input: AlignedText) => AlignedText

/** How far the two texts may drift apart between two places where they agree. */
const DRIFT_MAX = 64

export function alignOriginal(text: string): AlignedText {
  const starts = Int32Array.from({ length: text.length }, (_, at) => at)
  return { text, places: { starts, ends: starts.map((at) => at + 1) }, isFirst: true }
}

export function withoutPlaces(text: string): AlignedText {
  return { text, places: undefined, isFirst: true }
}

export function sliceAligned(
  { text, places, isFirst }: AlignedText,
  start: number,
  end: number,
): AlignedText {
  return {
    text: text.slice(start, end),
    places: places && {
      starts: places.starts.subarray(start, end),
      ends: places.ends.subarray(start, end),
    },
    isFirst: isFirst && start === 0,
  }
}

/**
 * Edits are in order and do not overlap. New code units stand for all that they replace; those that
 * replace nothing have the place of what follows.
 */
export function applyEdits(input: AlignedText, edits: readonly Edit[]): AlignedText {
  const [first] = edits
  if (first === undefined) return input
  const text = joinEdits(input.text, edits)
  const losesStart = first.start === 0 && first.end > 0 && first.content === ''
  const isFirst = input.isFirst && !losesStart
  if (input.places === undefined) return { text, places: undefined, isFirst }
  return { text, places: placeEdits(input, input.places, { edits, length: text.length }), isFirst }
}

function joinEdits(text: string, edits: readonly Edit[]): string {
  let edited = ''
  let kept = 0
  for (const { start, end, content } of edits) {
    edited += text.slice(kept, start) + content
    kept = end
  }
  return edited + text.slice(kept)
}

function placeEdits(
  input: AlignedText,
  { starts, ends }: Places,
  { edits, length }: { readonly edits: readonly Edit[]; readonly length: number },
): Places {
  const places = { starts: new Int32Array(length), ends: new Int32Array(length) }
  let kept = 0
  let at = 0
  const keep = (to: number): void => {
    places.starts.set(starts.subarray(kept, to), at)
    places.ends.set(ends.subarray(kept, to), at)
    at += to - kept
  }
  for (const { start, end, content } of edits) {
    keep(start)
    const place = placeOf(input, start, end > start ? end : afterCharacter(input.text, start))
    places.starts.fill(place.start, at, at + content.length)
    places.ends.fill(place.end, at, at + content.length)
    at += content.length
    kept = end
  }
  keep(input.text.length)
  assert(at === length, 'AT1: every code unit is aligned')
  return places
}

function afterCharacter(text: string, at: number): number {
  return at + String.fromCodePoint(text.codePointAt(at) ?? 0).length
}

/** The part of the original that a part of the text came from. */
export function placeOf(
  { places }: AlignedText,
  start: number,
  end: number,
): { start: number; end: number } {
  if (places === undefined) return { start: 0, end: 0 }
  const { starts, ends } = places
  const from = starts[start] ?? ends.at(-1) ?? 0
  const last = Math.min(end, ends.length) - 1
  return { start: from, end: last < start ? from : (ends[last] ?? from) }
}

/** A stage of which `convert` has the result, and whose edits follow from single units. */
export function stageOfUnits(units: RegExp, convert: (text: string) => string): TextStage {
  return (input) => {
    const whole = convert(input.text)
    if (whole === input.text) return input
    if (input.places === undefined) return { ...input, text: whole }
    const byUnits = applyEdits(input, [...editsOfMatches(input.text, units, convert)])
    const aligned = byUnits.text === whole ? byUnits : alignByAgreement(input, whole)
    return { ...aligned, isFirst: input.isFirst }
  }
}

/** A stage that replaces every match of a pattern, which must be global. */
export function stageOfMatches(pattern: RegExp, contentOf: (match: string) => string): TextStage {
  return (input) => applyEdits(input, [...editsOfMatches(input.text, pattern, contentOf)])
}

function* editsOfMatches(
  text: string,
  pattern: RegExp,
  contentOf: (match: string) => string,
): Generator<Edit> {
  for (const { start, end } of matchesOf(text, pattern)) {
    const match = text.slice(start, end)
    const content = contentOf(match)
    if (content !== match) yield { start, end, content }
  }
}

/** The matches of a global pattern. An empty one at the end of another is none, as the reference has it. */
export function* matchesOf(
  text: string,
  pattern: RegExp,
): Generator<{ readonly start: number; readonly end: number }> {
  let last = -1
  for (const { 0: match, index: start } of text.matchAll(pattern)) {
    const end = start + match.length
    if (match === '' && (start === last || isInsideCharacter(text, start))) continue
    yield { start, end }
    last = end
  }
}

/** The interpreter finds assertions that hold between the halves of a pair of surrogates. */
function isInsideCharacter(text: string, at: number): boolean {
  return at > 0 && (text.codePointAt(at - 1) ?? 0) > 0xff_ff
}

/** Walks both texts and, where they part, goes on at the nearest place where they agree again. */
function alignByAgreement(input: AlignedText, output: string): AlignedText {
  const edits: Edit[] = []
  let from = 0
  let to = 0
  while (to < output.length || from < input.text.length) {
    if (input.text.charAt(from) === output.charAt(to)) {
      from += 1
      to += 1
      continue
    }
    const ahead = input.text.slice(from, from + DRIFT_MAX)
    const { skipped, added } = nextAgreement(ahead, output.slice(to, to + DRIFT_MAX))
    edits.push({ start: from, end: from + skipped, content: output.slice(to, to + added) })
    from += skipped
    to += added
  }
  return applyEdits(input, edits)
}

/** How many code units of each text come before one that they share, or before their ends. */
function nextAgreement(ahead: string, outputAhead: string): { skipped: number; added: number } {
  for (let drift = 1; drift < ahead.length + outputAhead.length; drift += 1) {
    for (let added = 0; added <= drift; added += 1) {
      const skipped = drift - added
      const unit = ahead.charAt(skipped)
      if (unit !== '' && unit === outputAhead.charAt(added)) return { skipped, added }
    }
  }
  return { skipped: ahead.length, added: outputAhead.length }
}
