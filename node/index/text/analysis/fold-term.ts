// Folding makes spellings of one word equal: lower case by Unicode's default mapping (no locale),
// NFC, the straight apostrophe for the curly one, no soft hyphens.

const NOT_ASCII = /[^\0-\x7f]/
const APOSTROPHES = /[\u2018\u2019\u02bc\uff07]/g
const SOFT_HYPHENS = /\u00ad/g

export function isAscii(text: string): boolean {
  return !NOT_ASCII.test(text)
}

export function foldTerm(term: string): string {
  const lower = term.toLowerCase()
  if (isAscii(lower)) return lower
  return lower.normalize('NFC').replace(APOSTROPHES, "'").replace(SOFT_HYPHENS, '')
}
