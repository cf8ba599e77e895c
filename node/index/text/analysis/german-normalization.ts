// Spellings of German that are one word: ä, ae and a; ß and ss. As Lucene's GermanNormalizationFilter
// does it, which is Snowball's "German2" variant: `ue` is u unless it follows a vowel or q, so that
// "neue" and "quelle" stay what they are.

const MAY_CHANGE = /[äöüß]|[aou]e/
const PLAIN: Readonly<Record<string, string>> = { ä: 'a', ö: 'o', ü: 'u', ß: 'ss' }

/** What the letter before allows: after `vowel` a u begins no umlaut; after `umlaut` an e goes. */
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
