// Cutting text into words by the rules of UAX #29 that concern words (WB4 to WB13b, but for WB7a to
// WB7c, quotation marks in Hebrew words, and the colon, which a few languages have inside words).
//
// A word is a run of letters, digits and connectors that holds at least one letter or digit. An
// apostrophe or full stop stays inside between two letters or two digits, a comma between two
// digits. Han and Hiragana characters are words of one character each; Katakana and Hangul come in
// runs. White space, punctuation and symbols (emoji among them) are not words.

import { CLASS_BY_CODE_UNIT, CharacterClass, classOfPair } from './character-classes.ts'

/** Where the tokens lie: start, end, start, end and so on, in UTF-16 units. */
export type Spans = readonly number[]
export type Segmenter = (text: string) => Spans

export function segmentWords(text: string): Spans {
  const spans: number[] = []
  let at = 0
  while (at < text.length) {
    const kind = classAt(text, at)
    if (kind === CharacterClass.ideograph) {
      const end = behindExtends(text, at + widthAt(text, at))
      spans.push(at, end)
      at = end
    } else if (kind >= CharacterClass.letter && kind <= CharacterClass.connector) {
      at = addWord(text, at, kind, spans)
    } else {
      at += widthAt(text, at)
    }
  }
  return spans
}

/** Returns where the word ends. */
function addWord(text: string, start: number, kind: number, spans: number[]): number {
  let last = kind
  let hasCore = kind !== CharacterClass.connector
  let at = start + widthAt(text, start)
  while (at < text.length) {
    const next = classAt(text, at)
    // The common case first: letters and digits in any mixture.
    if (next <= CharacterClass.digit && next !== 0 && last !== CharacterClass.katakana) {
      last = next
      hasCore = true
    } else if (next !== CharacterClass.extend) {
      if (!joins(text, at, last, next)) break
      if (next <= CharacterClass.connector) last = next
      if (next === CharacterClass.katakana) hasCore = true
    }
    at += widthAt(text, at)
  }
  if (hasCore) spans.push(start, at)
  return at
}

/** Whether the character at `at`, of class `next`, goes on with a word that `last` was the end of. */
function joins(text: string, at: number, last: number, next: number): boolean {
  switch (next) {
    case CharacterClass.connector:
      return true
    case CharacterClass.katakana:
      return last === CharacterClass.katakana || last === CharacterClass.connector
    case CharacterClass.midLetter:
      return last === CharacterClass.letter && classBehind(text, at) === last
    case CharacterClass.midDigit:
      return last === CharacterClass.digit && classBehind(text, at) === last
    case CharacterClass.midBoth:
      return last <= CharacterClass.digit && classBehind(text, at) === last
    default:
      return false
  }
}

function classBehind(text: string, at: number): number {
  return classAt(text, behindExtends(text, at + 1))
}

function behindExtends(text: string, from: number): number {
  let at = from
  while (at < text.length && classAt(text, at) === CharacterClass.extend) at += widthAt(text, at)
  return at
}

function classAt(text: string, at: number): number {
  const kind = CLASS_BY_CODE_UNIT[text.charCodeAt(at)] ?? CharacterClass.other
  return kind === CharacterClass.highSurrogate ? classOfPair(text, at) : kind
}

function widthAt(text: string, at: number): number {
  const code = text.charCodeAt(at)
  if (code < 0xd800 || code > 0xdbff) return 1
  const low = text.charCodeAt(at + 1)
  return low >= 0xdc00 && low <= 0xdfff ? 2 : 1
}
