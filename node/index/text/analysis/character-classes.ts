// What each character means to the word segmenter: the Word_Break property of UAX #29, as far as
// the engine's regular expressions know it, with CLDR's change that a colon joins nothing.

export const CharacterClass = {
  other: 0,
  letter: 1,
  digit: 2,
  katakana: 3,
  /** Han and Hiragana: a word of its own, since nothing but a dictionary could tell more. */
  ideograph: 4,
  /** Joins whatever stands beside it: the underscore and its like. */
  connector: 5,
  /** Joins letters, as the middle dot of Catalan does. */
  midLetter: 6,
  /** Joins digits: the comma. */
  midDigit: 7,
  /** Joins letters and also digits: the full stop and the apostrophe. */
  midBoth: 8,
  /** Marks and invisible formatting: part of the character before. */
  extend: 9,
  /** The first half of a character beyond the basic plane. */
  highSurrogate: 10,
} as const

const MID_LETTER = /[\u00b7\u0387\u055f\u05f4\u2027\ufe13]/
const MID_DIGIT =
  /[,;\u037e\u0589\u060c\u060d\u066c\u07f8\u2044\ufe10\ufe14\ufe50\ufe54\uff0c\uff1b]/
const MID_BOTH = /[.'\u2018\u2019\u2024\ufe52\uff07\uff0e]/
const KATAKANA = /[\p{Script=Katakana}\u3031-\u3035\u309b\u309c\u30a0\u30fc\uff70]/u
const IDEOGRAPH = /[\p{Ideographic}\p{Script=Hiragana}]/u
const LETTER = /[\p{Alphabetic}\p{L}]/u

// The first pattern that matches decides.
const PATTERNS: readonly (readonly [RegExp, number])[] = [
  [/[\ud800-\udbff]/, CharacterClass.highSurrogate],
  // The zero-width space is a space; every other format character is invisible inside a word.
  [/\u200b/, CharacterClass.other],
  [/[\p{M}\p{Cf}\uff9e\uff9f]/u, CharacterClass.extend],
  [/\p{Nd}/u, CharacterClass.digit],
  [/\p{Pc}/u, CharacterClass.connector],
  [MID_LETTER, CharacterClass.midLetter],
  [MID_DIGIT, CharacterClass.midDigit],
  [MID_BOTH, CharacterClass.midBoth],
  [KATAKANA, CharacterClass.katakana],
  [IDEOGRAPH, CharacterClass.ideograph],
  [LETTER, CharacterClass.letter],
]
const ASTRAL_PATTERNS = PATTERNS.slice(1)

/** The class of each UTF-16 code unit. */
export const CLASS_BY_CODE_UNIT: Uint8Array = Uint8Array.from({ length: 0x10000 }, (_, code) =>
  classIn(PATTERNS, String.fromCharCode(code)),
)

/** The class of the character beyond the basic plane that begins at `at`. */
export function classOfPair(text: string, at: number): number {
  return classIn(ASTRAL_PATTERNS, text.slice(at, at + 2))
}

function classIn(patterns: readonly (readonly [RegExp, number])[], character: string): number {
  const found = patterns.find(([pattern]) => pattern.test(character))
  return found === undefined ? CharacterClass.other : found[1]
}
