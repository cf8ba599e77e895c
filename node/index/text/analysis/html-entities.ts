// Character references of HTML: numeric ones, and the names of HTML 4 (its sections 24.2 to 24.4),
// which are the ones that people write.

const LATIN_1_FIRST = 160
const LATIN_1 = (
  'nbsp iexcl cent pound curren yen brvbar sect uml copy ordf laquo not shy reg macr deg plusmn ' +
  'sup2 sup3 acute micro para middot cedil sup1 ordm raquo frac14 frac12 frac34 iquest Agrave ' +
  'Aacute Acirc Atilde Auml Aring AElig Ccedil Egrave Eacute Ecirc Euml Igrave Iacute Icirc Iuml ' +
  'ETH Ntilde Ograve Oacute Ocirc Otilde Ouml times Oslash Ugrave Uacute Ucirc Uuml Yacute THORN ' +
  'szlig agrave aacute acirc atilde auml aring aelig ccedil egrave eacute ecirc euml igrave ' +
  'iacute icirc iuml eth ntilde ograve oacute ocirc otilde ouml divide oslash ugrave uacute ucirc ' +
  'uuml yacute thorn yuml'
).split(' ')
const GREEK =
  'Alpha Α Beta Β Gamma Γ Delta Δ Epsilon Ε Zeta Ζ Eta Η Theta Θ Iota Ι Kappa Κ Lambda Λ Mu Μ ' +
  'Nu Ν Xi Ξ Omicron Ο Pi Π Rho Ρ Sigma Σ Tau Τ Upsilon Υ Phi Φ Chi Χ Psi Ψ Omega Ω alpha α ' +
  'beta β gamma γ delta δ epsilon ε zeta ζ eta η theta θ iota ι kappa κ lambda λ mu μ nu ν xi ξ ' +
  'omicron ο pi π rho ρ sigmaf ς sigma σ tau τ upsilon υ phi φ chi χ psi ψ omega ω'
const OTHERS =
  'quot " amp & lt < gt > apos \' OElig Œ oelig œ Scaron Š scaron š Yuml Ÿ fnof ƒ circ ˆ tilde ˜ ' +
  'ndash – mdash — lsquo ‘ rsquo ’ sbquo ‚ ldquo “ rdquo ” bdquo „ dagger † Dagger ‡ bull • ' +
  'hellip … permil ‰ prime ′ Prime ″ lsaquo ‹ rsaquo › euro € trade ™ larr ← uarr ↑ rarr → darr ↓ ' +
  'minus − infin ∞ asymp ≈ ne ≠ le ≤ ge ≥'
// Invisible ones are written by their numbers.
const INVISIBLE: readonly (readonly [string, string])[] = [
  ['ensp', '\u2002'],
  ['emsp', '\u2003'],
  ['thinsp', '\u2009'],
  ['zwnj', '\u200c'],
  ['zwj', '\u200d'],
]

const CHARACTER_BY_NAME: ReadonlyMap<string, string> = new Map([
  ...LATIN_1.map((name, index) => [name, String.fromCharCode(LATIN_1_FIRST + index)] as const),
  ...pairsOf(GREEK),
  ...pairsOf(OTHERS),
  ...INVISIBLE,
])

/** What stands between `&` and `;`. Undefined for a name or number that is none. */
export function decodeEntity(body: string): string | undefined {
  if (!body.startsWith('#')) return CHARACTER_BY_NAME.get(body)
  const isHexadecimal = body[1] === 'x' || body[1] === 'X'
  const code = isHexadecimal ? parseInt(body.slice(2), 16) : parseInt(body.slice(1), 10)
  const isCharacter = code > 0 && code <= 0x10ffff && (code < 0xd800 || code > 0xdfff)
  return isCharacter ? String.fromCodePoint(code) : undefined
}

function pairsOf(table: string): readonly (readonly [string, string])[] {
  const words = table.split(' ')
  return words.flatMap((name, at) => (at % 2 === 0 ? [[name, words[at + 1] ?? ''] as const] : []))
}
