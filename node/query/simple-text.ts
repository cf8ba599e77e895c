// Parses text that a person types into a search box. No text is refused:
//
//   sea charts        words; most of them must match
//   "north sea"       words in a row; a quotation mark without a partner is ignored
//   -draft            excludes this word or phrase, if anything else is wanted
//
// A minus excludes only between a space and a letter or a quotation mark. So "-5", "e-mail" and
// "sea - chart" keep their plain meaning.

/** The parts of a typed text. */
export interface SimpleText {
  readonly words: readonly string[]
  readonly phrases: readonly string[]
  readonly unwanted: readonly string[]
  /** The words and phrases, in the order of the text. */
  readonly wanted: string
  /** Whether the last word may be a prefix, because no space follows it. */
  readonly isOpen: boolean
}

const QUOTATION_MARKS = /[\u201c\u201d\u201e\u00ab\u00bb]/g
const PHRASE = /(?<=^|\s)(?<minus>-?)"(?<phrase>[^"]+)"(?=\s|$|[.,;:!?])/g
const UNWANTED = /^-(?=\p{L})/u

export function readSimpleText(text: string): SimpleText {
  const phrases: string[] = []
  const unwanted: string[] = []
  const plain = text.replace(QUOTATION_MARKS, '"')
  const rest = plain.replace(PHRASE, (...found) => {
    const { minus = '', phrase = '' }: Record<string, string> = found.at(-1)
    const list = minus === '' ? phrases : unwanted
    list.push(phrase)
    return ' '
  })
  const typed = rest.split(/\s+/).filter((word) => word !== '')
  const words = typed.filter((word) => !UNWANTED.test(word))
  unwanted.push(...typed.filter((word) => UNWANTED.test(word)).map((word) => word.slice(1)))
  const isOpen = words.length > 0 && plain.endsWith(words.at(-1) ?? '')
  if (words.length + phrases.length > 0) {
    return { words, phrases, unwanted, wanted: wantedIn(plain), isOpen }
  }
  const wanted = unwanted.join(' ')
  return { words: unwanted, phrases: [], unwanted: [], wanted, isOpen: false }
}

function wantedIn(plain: string): string {
  const parts = plain.replace(PHRASE, (...found) => {
    const { minus = '', phrase = '' }: Record<string, string> = found.at(-1)
    return minus === '' ? ` ${phrase} ` : ' '
  })
  return parts
    .split(/\s+/)
    .filter((word) => word !== '' && !UNWANTED.test(word))
    .join(' ')
}
