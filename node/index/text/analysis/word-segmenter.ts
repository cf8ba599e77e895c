// Splits text into words by the rules of UAX #29 for words (WB4 to WB13b). It leaves out WB7a to
// WB7c, quotation marks in Hebrew words, and the colon, which a few languages have inside words.
//
// A word is a run of letters, digits and connectors with at least one letter or digit. An
// apostrophe or full stop stays inside between two letters or two digits, a comma between two
// digits. Han and Hiragana characters are words of one character each; Katakana and Hangul form
// runs. White space, punctuation and symbols are not words, but each emoji is one. Thai, Lao, Khmer and
// Burmese are written without spaces; ICU's dictionaries find the words of a run.

import { CLASS_BY_CODE_UNIT, CharacterClass, classOfPair } from './character-classes.ts'
import type { Segmentation } from './segmentation.ts'

/** The search behind a joiner stops after this many marks. No word of any script has as many. */
const MARKS_MAX = 64
const NO_WORD = -1
const ZERO_WIDTH_JOINER = 0x200d
const FLAG_HALF_UNITS = 2
/**
 * The length of a run that the dictionary gets at a time, because it reads all of it to find the
 * first word.
 */
const RUN_LENGTH_MAX = 512
const DICTIONARY = new Intl.Segmenter('und', { granularity: 'word' })

export function segmentWords(text: string): Segmentation {
  return new WordSegmentation(text)
}

class WordSegmentation implements Segmentation {
  readonly #text: string
  #at = 0
  /** The word that continues at `#at`: its start, and the class of its last character. */
  #start = NO_WORD
  #last: number = CharacterClass.other
  #hasCore = false

  constructor(text: string) {
    this.#text = text
  }

  advance(upTo: number, spans: number[]): boolean {
    const text = this.#text
    const end = Math.min(upTo, text.length)
    while (this.#at < end) {
      if (this.#start === NO_WORD) this.#begin(text, spans)
      else this.#goOn(end, spans)
    }
    if (this.#at < text.length) return false
    this.#finish(spans)
    return true
  }

  #begin(text: string, spans: number[]): void {
    const at = this.#at
    const kind = classAt(text, at)
    if (kind === CharacterClass.complex) {
      this.#at = addComplexWords(text, at, spans)
      return
    }
    this.#at = at + widthAt(text, at)
    const isPicture = kind === CharacterClass.emoji || kind === CharacterClass.regional
    if (!isPicture && (kind < CharacterClass.letter || kind > CharacterClass.connector)) return
    this.#start = at
    this.#last = kind
    this.#hasCore = kind !== CharacterClass.connector
  }

  /** Continues to the end of the word, but not beyond `end`. */
  #goOn(end: number, spans: number[]): void {
    const text = this.#text
    let last = this.#last
    let at = this.#at
    while (at < end) {
      const next = classAt(text, at)
      // The common case first: letters and digits in any mixture.
      if (next <= CharacterClass.digit && next !== 0 && last <= CharacterClass.digit) last = next
      else if (next !== CharacterClass.extend) {
        if (!this.#joins(at, last, next)) break
        if (next <= CharacterClass.connector) last = next
        if (next < CharacterClass.connector) this.#hasCore = true
      }
      at += widthAt(text, at)
    }
    this.#at = at
    this.#last = last
    if (at < end) this.#finish(spans)
  }

  #joins(at: number, last: number, next: number): boolean {
    if (last < CharacterClass.emoji && next < CharacterClass.emoji) {
      return joins(this.#text, at, last, next)
    }
    if (last !== next) return false
    return next === CharacterClass.regional
      ? at - this.#start === FLAG_HALF_UNITS
      : this.#text.charCodeAt(at - 1) === ZERO_WIDTH_JOINER
  }

  #finish(spans: number[]): void {
    if (this.#start !== NO_WORD && this.#hasCore) spans.push(this.#start, this.#at)
    this.#start = NO_WORD
  }
}

/** Answers the offset where the text continues. If a run is cut, its last word may be cut too. */
function addComplexWords(text: string, from: number, spans: number[]): number {
  const end = behindRun(text, from)
  const words = [...DICTIONARY.segment(text.slice(from, end))]
  const isCut = end - from >= RUN_LENGTH_MAX && words.length > 1
  const last = isCut ? words.pop() : undefined
  for (const { index, segment, isWordLike } of words) {
    if (isWordLike === true) spans.push(from + index, from + index + segment.length)
  }
  return last === undefined ? end : from + last.index
}

function behindRun(text: string, from: number): number {
  let at = from
  while (at < text.length && at - from < RUN_LENGTH_MAX) {
    const kind = classAt(text, at)
    if (kind !== CharacterClass.complex && kind !== CharacterClass.extend) break
    at += widthAt(text, at)
  }
  return at
}

/** Whether the character at `at`, of class `next`, continues a word that ends in `last`. */
function joins(text: string, at: number, last: number, next: number): boolean {
  switch (next) {
    case CharacterClass.letter:
    case CharacterClass.digit:
      return last === CharacterClass.connector
    case CharacterClass.connector:
      return last !== CharacterClass.ideograph
    case CharacterClass.katakana:
      return last === next || last === CharacterClass.connector
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
  let behind = at + 1
  for (let marks = 0; marks < MARKS_MAX && behind < text.length; marks += 1) {
    if (classAt(text, behind) !== CharacterClass.extend) break
    behind += widthAt(text, behind)
  }
  return classAt(text, behind)
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
