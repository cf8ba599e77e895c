// The class of each character for the word segmenter: the Word_Break property of UAX #29, as far as
// the engine's regular expressions know it. As in CLDR, a colon joins nothing.

export const CharacterClass = {
  other: 0,
  letter: 1,
  digit: 2,
  katakana: 3,
  /** Han and Hiragana. Each is a word of its own, because only a dictionary finds longer words. */
  ideograph: 4,
  /** Joins its neighbours: the underscore and similar characters. */
  connector: 5,
  /** Joins letters, such as the middle dot of Catalan. */
  midLetter: 6,
  /** Joins digits: the comma. */
  midDigit: 7,
  /** Joins letters and digits: the full stop and the apostrophe. */
  midBoth: 8,
  /** Marks and invisible format characters. They belong to the character before. */
  extend: 9,
  /** The first half of a character beyond the basic plane. */
  highSurrogate: 10,
  /** Scripts without spaces between words. A dictionary finds their words. */
  complex: 11,
  /** A picture, which is a word of its own with its modifiers and those joined to it. */
  emoji: 12,
  /** Two of them are a flag. */
  regional: 13,
} as const

const MID_LETTER = /[\u00b7\u0387\u055f\u05f4\u2027\ufe13]/
const MID_DIGIT =
  /[,;\u037e\u0589\u060c\u060d\u066c\u07f8\u2044\ufe10\ufe14\ufe50\ufe54\uff0c\uff1b]/
const MID_BOTH = /[.'\u2018\u2019\u2024\ufe52\uff07\uff0e]/
const KATAKANA = /[\p{Script=Katakana}\u3031-\u3035\u309b\u309c\u30a0\u30fc\uff70]/u
const IDEOGRAPH = /[\p{Ideographic}\p{Script=Hiragana}]/u
const COMPLEX = /[\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}]/u
const LETTER = /[\p{Alphabetic}\p{L}]/u
/** Without signs of writing that may look like pictures, such as © and ↔. */
const EMOJI =
  /(?=[\p{Emoji_Presentation}\p{Extended_Pictographic}])[\u231a-\u23ff\u2600-\u27bf\u2b00-\u2bff\u{1f000}-\u{1faff}]/u

// The first matching pattern decides.
const PATTERNS: readonly (readonly [RegExp, number])[] = [
  [/[\ud800-\udbff]/, CharacterClass.highSurrogate],
  // Format characters are invisible inside a word, also the zero-width space.
  [/[\p{M}\p{Cf}\p{Emoji_Modifier}\uff9e\uff9f]/u, CharacterClass.extend],
  [/\p{Regional_Indicator}/u, CharacterClass.regional],
  [EMOJI, CharacterClass.emoji],
  [/\p{Nd}/u, CharacterClass.digit],
  [/\p{Pc}/u, CharacterClass.connector],
  [MID_LETTER, CharacterClass.midLetter],
  [MID_DIGIT, CharacterClass.midDigit],
  [MID_BOTH, CharacterClass.midBoth],
  [KATAKANA, CharacterClass.katakana],
  [IDEOGRAPH, CharacterClass.ideograph],
  [COMPLEX, CharacterClass.complex],
  [LETTER, CharacterClass.letter],
]
const ASTRAL_PATTERNS = PATTERNS.slice(1)

const CODE_UNITS = 0x10000

/** The class of each UTF-16 code unit. */
export const CLASS_BY_CODE_UNIT: Uint8Array = classesOfCodeUnits()

/** A pattern finds its characters in a text of all code units, because asking for each one takes four times as long. */
function classesOfCodeUnits(): Uint8Array {
  const classes = new Uint8Array(CODE_UNITS)
  const all = Array.from(classes, (_, code) => String.fromCharCode(code)).join('')
  // The first pattern decides, so it comes last.
  for (const [{ source, flags }, kind] of PATTERNS.toReversed()) {
    for (const { index, 0: run } of all.matchAll(new RegExp(`${source}+`, `${flags}g`))) {
      classes.fill(kind, index, index + run.length)
    }
  }
  return classes
}

/** The class of the character beyond the basic plane that begins at `at`. */
export function classOfPair(text: string, at: number): number {
  const code = text.codePointAt(at) ?? 0
  if (code <= 0xffff) return CharacterClass.other // half a pair
  const page = PAGES[code >> PAGE_BITS]
  return (page ?? newPage(code >> PAGE_BITS))[code & (PAGE_SIZE - 1)] ?? CharacterClass.other
}

const PAGE_BITS = 8
const PAGE_SIZE = 1 << PAGE_BITS
/** Classes of 256 characters each, computed at their first use, because few texts need them. */
const PAGES: (Uint8Array | undefined)[] = []

function newPage(index: number): Uint8Array {
  const page = Uint8Array.from({ length: PAGE_SIZE }, (_, at) =>
    classIn(ASTRAL_PATTERNS, String.fromCodePoint((index << PAGE_BITS) + at)),
  )
  PAGES[index] = page
  return page
}

function classIn(patterns: readonly (readonly [RegExp, number])[], character: string): number {
  const found = patterns.find(([pattern]) => pattern.test(character))
  return found === undefined ? CharacterClass.other : found[1]
}
