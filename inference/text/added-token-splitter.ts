/** A part of a text: an added token, or the text between two of them. */
export interface Section {
  readonly start: number
  readonly end: number
  /** The id of the added token; undefined for the text between tokens. */
  readonly id: number | undefined
}

/** How an added token is found in a text. */
export interface AddedTokenShape {
  readonly id: number
  readonly content: string
  /** Whether the token includes the white space on its left, or on its right. */
  readonly lstrip: boolean
  readonly rstrip: boolean
  /** True: the token is ignored where a word character stands directly before or after it. */
  readonly isSingleWord: boolean
}

const WHITE_SPACE = /\p{White_Space}/u
const WORD_BEFORE = /[\p{Alphabetic}\p{M}\p{Nd}\p{Pc}\u200c\u200d]$/u
const WORD_AFTER = /^[\p{Alphabetic}\p{M}\p{Nd}\p{Pc}\u200c\u200d]/u
const CHARACTER_UNITS_MAX = 2
const NOWHERE: ReadonlySet<number> = new Set()

/** Cuts added tokens out of texts. At each place the longest token wins, as in the reference. */
export class AddedTokenSplitter {
  /** Tokens by their first character, the longest first. */
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

  /**
   * The sections of a text in order, without empty ones. No token begins at an index in
   * `unmatchedAt`.
   */
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
      // The next match may begin with white space that this token includes. It then starts after it.
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

/** The start of the white space before `end`, at or after `from`. */
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
