// A text within the stages of a tokenizer, with its places: for each UTF-16 code unit, the part of
// the original text that it came from.
//
//   original    É      t  é
//   normalized  e      t  e
//   starts      0      1  2
//   ends        1      2  3
//
// Callers that need no places leave them out. Stages then cost only their string operations.
//
// Invariants:
//   AT1  `starts` and `ends` have one entry for each code unit of `text`.
//   AT2  Both are non-decreasing, and `starts[i] <= ends[i]`.

import { assert } from '../../lib/assert.ts'

/** The part of the original text that each code unit came from (AT1, AT2), in UTF-16 code units. */
export interface Places {
  readonly starts: Int32Array
  readonly ends: Int32Array
}

/** A text between two stages. Stages return new ones and never change their input. */
export interface AlignedText {
  readonly text: string
  readonly places: Places | undefined
  /** True: the text begins at the beginning of the original. */
  readonly isFirst: boolean
}

/** Replaces `text.slice(start, end)` by `content`. */
export interface Edit {
  readonly start: number
  readonly end: number
  readonly content: string
}

/** One step of a tokenizer, such as a normalizer. */
export type TextStage = (input: AlignedText) => AlignedText

/** The most code units that are searched for the next place where two texts agree. */
const DRIFT_MAX = 64

/** An original text with its own places. */
export function alignOriginal(text: string): AlignedText {
  const starts = Int32Array.from({ length: text.length }, (_, at) => at)
  return { text, places: { starts, ends: starts.map((at) => at + 1) }, isFirst: true }
}

/** An original text for callers that need no places. */
export function withoutPlaces(text: string): AlignedText {
  return { text, places: undefined, isFirst: true }
}

/** A part of a text with its places. */
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
 * Applies edits, which are in order and do not overlap. Each new code unit has the place of
 * everything that its edit replaces. An insertion has the place of the character after it.
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

/**
 * A stage that converts a text by `convert`. Converting each match of `units` alone gives the
 * places.
 */
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

/**
 * The matches of a global pattern. Like the reference, it skips an empty match directly after
 * another.
 */
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

/** JavaScript also finds empty matches between the two halves of a surrogate pair. */
function isInsideCharacter(text: string, at: number): boolean {
  return at > 0 && (text.codePointAt(at - 1) ?? 0) > 0xff_ff
}

/**
 * Walks both texts. After a difference, it continues at the nearest place where they agree again.
 */
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

/** The number of code units in each text before the next common one, or before the ends. */
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
