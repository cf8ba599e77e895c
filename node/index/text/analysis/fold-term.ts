// Folding unifies the spellings of a word: compatible characters (NFKC: full and half width,
// ligatures), lower case by Unicode's default mapping (no locale), the straight apostrophe for the
// curly one, no soft hyphens. As in Lucene, a capital I with a dot becomes a plain i.

const NOT_ASCII = /[^\0-\x7f]/
/** Letters without marks, which only change to lower case: most words of most texts. */
const IS_SIMPLE =
  /^[\0-\x7f\u00c0-\u012f\u0131\u0134-\u013e\u0141-\u0148\u014a-\u017e\u0400-\u045f\u3041-\u3096\u30a1-\u30fa\u4e00-\u9fff\uac00-\ud7a3]*$/
/** Latin letters beyond ASCII, also those with marks. */
const HAS_ACCENTS = /[\u00df-\u024f\u1e00-\u1eff]/
const MARKS_OF_LATIN = /(?<=\p{Script=Latin}\p{Mn}*)\p{Mn}/gu
/** Letters that Unicode does not decompose, as in Lucene's ASCIIFoldingFilter. */
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
}
const LETTER = new RegExp(`[${Object.keys(LETTERS).join('')}]`, 'g')
const APOSTROPHES = /[\u2018\u2019\u02bc]/g
const SOFT_HYPHENS = /\u00ad/g
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

export function foldTerm(term: string): string {
  return folded(term, (text) => text.toLowerCase())
}

function folded(term: string, lower: (text: string) => string): string {
  if (IS_SIMPLE.test(term)) return lower(term)
  const whole = term.replace(SOFT_HYPHENS, '').normalize('NFKC')
  const plain = lower(whole).replace(DOTTED, 'i')
  return plain.normalize('NFKC').replace(APOSTROPHES, "'")
}

/** Removes the accents of Latin letters, because people often leave them out of a search. */
export function withoutAccents(term: string): string {
  if (!HAS_ACCENTS.test(term)) return term
  const bare = term.normalize('NFD').replace(MARKS_OF_LATIN, '').normalize('NFC')
  return bare.replace(LETTER, (letter) => LETTERS[letter] ?? letter)
}
