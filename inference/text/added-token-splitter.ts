/** A part of a text that is an added token, or lies between two of them. */
export interface Section {
  readonly start: number
  readonly end: number
  /** Of the added token. */
  readonly id: number | undefined
}

export interface AddedTokenShape {
  readonly id: number
  readonly content: string
  /** Takes the white space on its left or right with it. */
  readonly lstrip: boolean
  readonly rstrip: boolean
  /** Is no token where a word goes on before or after it. */
  readonly isSingleWord: boolean
}

const WHITE_SPACE = /\p{White_Space}/u
const WORD_BEFORE = /[\p{Alphabetic}\p{M}\p{Nd}\p{Pc}\u200c\u200d]$/u
const WORD_AFTER = /^[\p{Alphabetic}\p{M}\p{Nd}\p{Pc}\u200c\u200d]/u
const CHARACTER_UNITS_MAX = 2
const NOWHERE: ReadonlySet<number> = new Set()

/** Cuts added tokens out of texts: at each place the longest one wins, as the reference has it. */
export class AddedTokenSplitter {
  /** By their first character, the longest first. */
  readonly #tokensByStart = new Map<string, AddedTokenShape[]>()

  constructor(tokens: readonly AddedTokenShape[]) {
    const longestFirst = tokens.toSorted(
      (left, right) => right.content.length - left.content.length,
    )
    for (const token of longestFirst) {
      const start = token.content.charAt(0)
      if (start === '') continue
      const alike = this.#tokensByStart.get(start)
      if (alike === undefined) this.#tokensByStart.set(start, [token])
      else alike.push(token)
    }
  }

  /** Never gives an empty section, and no token that begins where none may. */
  split(text: string, unmatchedAt: ReadonlySet<number> = NOWHERE): Section[] {
    const sections: Section[] = []
    let from = 0
    let at = 0
    while (at < text.length) {
      const token = unmatchedAt.has(at) ? undefined : this.#tokenAt(text, at)
      if (token === undefined) {
        at += 1
        continue
      }
      const after = at + token.content.length
      if (!token.isSingleWord || isWhole(text, at, after)) {
        const start = token.lstrip ? spaceStart(text, from, at) : at
        const end = token.rstrip ? spaceEnd(text, after) : after
        if (start > from) sections.push({ start: from, end: start, id: undefined })
        sections.push({ start, end, id: token.id })
        from = end
      }
      // White space that a token took may begin the next match, which then starts behind it.
      at = after
    }
    if (from < text.length) sections.push({ start: from, end: text.length, id: undefined })
    return sections
  }

  #tokenAt(text: string, at: number): AddedTokenShape | undefined {
    const alike = this.#tokensByStart.get(text.charAt(at))
    return alike?.find(({ content }) => text.startsWith(content, at))
  }
}

function isWhole(text: string, start: number, end: number): boolean {
  const before = text.slice(Math.max(0, start - CHARACTER_UNITS_MAX), start)
  return !WORD_BEFORE.test(before) && !WORD_AFTER.test(text.slice(end, end + CHARACTER_UNITS_MAX))
}

/** Where the white space before `end` begins, but not before `from`. */
function spaceStart(text: string, from: number, end: number): number {
  let at = end
  while (at > from && WHITE_SPACE.test(text.charAt(at - 1))) at -= 1
  return at
}

function spaceEnd(text: string, start: number): number {
  let at = start
  while (at < text.length && WHITE_SPACE.test(text.charAt(at))) at += 1
  return at
}
