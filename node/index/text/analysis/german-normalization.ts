// Unifies spellings of German words: ä, ae and a; ß and ss. It follows Lucene's
// GermanNormalizationFilter, which is Snowball's "German2" variant: `ue` becomes u unless it
// follows a vowel or q, so "neue" and "quelle" keep their spelling.

const MAY_CHANGE = /[äöüß]|[aou]e/
const PLAIN: Readonly<Record<string, string>> = { ä: 'a', ö: 'o', ü: 'u', ß: 'ss' }

/**
 * What the letter before allows: after `vowel`, a u does not begin an umlaut; after `umlaut`, an e
 * is dropped.
 */
type State = 'other' | 'vowel' | 'umlaut'

export function normalizeGerman(term: string): string {
  if (!MAY_CHANGE.test(term)) return term
  let normalized = ''
  let state: State = 'other'
  for (const letter of term) {
    if (letter !== 'e' || state !== 'umlaut') normalized += PLAIN[letter] ?? letter
    state = stateBehind(letter, state)
  }
  return normalized
}

function stateBehind(letter: string, before: State): State {
  switch (letter) {
    case 'a':
    case 'o':
      return 'umlaut'
    case 'u':
      return before === 'other' ? 'umlaut' : 'vowel'
    case 'e':
    case 'i':
    case 'q':
    case 'y':
    case 'ä':
    case 'ö':
    case 'ü':
      return 'vowel'
    default:
      return 'other'
  }
}
