// What a person types into a search box. Nothing of it can be wrong:
//
//   sea charts        words, of which most have to be there
//   "north sea"       words in a row; a quotation mark without a partner is none
//   -draft            not this word or phrase, if there is anything else
//
// A minus counts between a space and a letter or a quotation mark, so that "-5", "e-mail" and "sea - chart"
// are what they look like.

export interface SimpleText {
  readonly words: readonly string[]
  readonly phrases: readonly string[]
  readonly unwanted: readonly string[]
  /** Whether the last word may go on: nothing was typed behind it. */
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
  if (words.length + phrases.length > 0) return { words, phrases, unwanted, isOpen }
  return { words: unwanted, phrases: [], unwanted: [], isOpen: false }
}
