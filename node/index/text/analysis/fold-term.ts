// Folding unifies the spellings of a word: compatible characters (NFKC: full and half width,
// ligatures), lower case by Unicode's default mapping (no locale), the straight apostrophe for the
// curly one, no invisible characters. As in Lucene, a capital I with a dot becomes a plain i.
// Beyond that, spellings that people of a script do not tell apart when they search are one
// (`withoutAccents`, docs/decisions/0099-what-people-type.md).

const NOT_ASCII = /[^\0-\x7f]/
/** Letters without marks, which only change to lower case: most words of most texts. */
const IS_SIMPLE =
  /^[\0-\x7f\u00c0-\u012f\u0131\u0134-\u013e\u0141-\u0148\u014a-\u017e\u0400-\u045f\u3041-\u3096\u30a1-\u30fa\u4e00-\u9fff\uac00-\ud7a3]*$/
/** Latin letters beyond ASCII, ё, stress marks, and all of Greek, Hebrew and Arabic. */
const HAS_ACCENTS =
  /[\u0300-\u03ff\u00df-\u024f\u0451\u0591-\u06ff\u0750-\u077f\u08a0-\u08ff\u1e00-\u1fff]/
const OPTIONAL_MARKS =
  /(?<=[\p{Script=Latin}\p{Script=Greek}\p{Script=Hebrew}\p{Script=Arabic}]\p{Mn}*)\p{Mn}/gu
/** Marks of stress. Other marks of Cyrillic make other letters, such as й. */
const STRESS_OF_CYRILLIC = /(?<=\p{Script=Cyrillic})[\u0300\u0301]/gu
/**
 * Letters that Unicode does not decompose, as in Lucene's ASCIIFoldingFilter, ArabicNormalizer and
 * PersianNormalizer: which of them is written depends on the keyboard, or on its writer.
 */
const LETTERS: Readonly<Record<string, string>> = {
  ß: 'ss',
  æ: 'ae',
  œ: 'oe',
  ø: 'o',
  đ: 'd',
  ð: 'd',
  þ: 'th',
  ħ: 'h',
  ı: 'i',
  ł: 'l',
  ŧ: 't',
  ё: 'е',
  ς: 'σ',
  ٱ: 'ا',
  ى: 'ي',
  ی: 'ي',
  ک: 'ك',
  ة: 'ه',
  ـ: '',
}
const LETTER = new RegExp(`[${Object.keys(LETTERS).join('')}]`, 'g')
const APOSTROPHES = /[\u2018\u2019\u02bc]/g
/** Format characters and variation selectors that nobody sees, and nobody types. */
const INVISIBLE =
  /[\ufe0e\ufe0f\u00ad\u061c\u180e\u200b-\u200f\u202a-\u202e\u2060-\u2064\u2066-\u206f\ufeff]/g
const DOTTED = /i\u0307/g

/** How an analyzer makes terms comparable. */
export interface Folding {
  readonly term: (term: string) => string
  /** Folds text in ASCII of any length. It keeps every offset. */
  readonly ascii: (text: string) => string
}

export const LOWER_CASE: Folding = { term: foldTerm, ascii: (text) => text.toLowerCase() }

/** I and i are two letters, without and with a dot, in either case. */
export const TURKISH_LOWER_CASE: Folding = {
  term: (term) => folded(term, (text) => text.toLocaleLowerCase('tr')),
  ascii: (text) => text.toLocaleLowerCase('tr'),
}

/**
 * The stemmer and the stop words use s and t with a cedilla, the old spelling of those with a comma
 * below.
 */
export const ROMANIAN_LOWER_CASE: Folding = {
  term: (term) => foldTerm(term).replaceAll('ș', 'ş').replaceAll('ț', 'ţ'),
  ascii: LOWER_CASE.ascii,
}

/** Dots of ё and marks of stress are written by some and not by others, also in stop words. */
export const RUSSIAN_LOWER_CASE: Folding = {
  term: (term) => foldTerm(term).replace(STRESS_OF_CYRILLIC, '').replaceAll('ё', 'е'),
  ascii: LOWER_CASE.ascii,
}

/** Keeps the case. */
export const COMPATIBLE: Folding = {
  term: (term) => (isAscii(term) ? term : term.normalize('NFKC')),
  ascii: (text) => text,
}

/** For whole values. Unifies only canonically equivalent texts. */
export const CANONICAL: Folding = {
  term: (term) => (isAscii(term) ? term : term.normalize('NFC')),
  ascii: (text) => text,
}

export function isAscii(text: string): boolean {
  return !NOT_ASCII.test(text)
}

function foldTerm(term: string): string {
  return folded(term, (text) => text.toLowerCase())
}

function folded(term: string, lower: (text: string) => string): string {
  if (IS_SIMPLE.test(term)) return lower(term)
  const whole = term.replace(INVISIBLE, '').normalize('NFKC')
  const plain = lower(whole).replace(DOTTED, 'i')
  return plain.normalize('NFKC').replace(APOSTROPHES, "'")
}

/**
 * Removes what people often leave out of a search: accents of Latin and Greek letters, the dots of ё,
 * marks of stress, vowels and hamzas of Arabic, points of Hebrew. Marks of other scripts make other words.
 */
export function withoutAccents(term: string): string {
  if (!HAS_ACCENTS.test(term)) return term
  const composed = term.replace(STRESS_OF_CYRILLIC, '').replace(LETTER, otherLetter)
  const bare = composed.normalize('NFD').replace(OPTIONAL_MARKS, '').normalize('NFC')
  return bare.replace(LETTER, otherLetter)
}

function otherLetter(letter: string): string {
  return LETTERS[letter] ?? letter
}
