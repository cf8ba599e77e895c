// Guards the texts of users within a prompt. A user may write the spelling of a control token, such
// as the end of a message; it must stay text, because only the template may place control tokens.
//
// The guard puts a mark after the first character of each such spelling. The mark passes through the
// template with the text, and then shows where no added token may begin.

/**
 * A noncharacter: Unicode reserves it for internal use (section 23.7), so no text should hold it.
 */
const MARK = '\uffff'

/** A rendered prompt without marks. */
export interface GuardedText {
  readonly text: string
  /** The indexes at which no added token begins, even if its spelling is there. */
  readonly unmatchedAt: ReadonlySet<number>
}

/**
 * Marks the spellings of special tokens in texts, and removes the marks from the rendered prompt.
 */
export class TextGuard {
  readonly #spelling: RegExp | undefined

  constructor(specialTexts: readonly string[]) {
    const spellings = specialTexts.filter((text) => text !== '').map((text) => RegExp.escape(text))
    if (spellings.length > 0) this.#spelling = new RegExp(`(?=${spellings.join('|')})`, 'g')
  }

  /** The text with marks; a mark that the text already held is removed. */
  mark(text: string): string {
    const clean = text.replaceAll(MARK, '')
    if (this.#spelling === undefined) return clean
    const marked = Array.from(clean.matchAll(this.#spelling), ({ index }) => index + 1)
    if (marked.length === 0) return clean
    const pieces = [0, ...marked].map((from, at) => clean.slice(from, marked[at]))
    return pieces.join(MARK)
  }

  /** Removes the marks from a prompt that was rendered from marked texts. */
  unmark(text: string): GuardedText {
    const unmatchedAt = new Set<number>()
    let length = 0
    const pieces = text.split(MARK)
    for (const piece of pieces.slice(0, -1)) {
      length += piece.length
      unmatchedAt.add(length - 1)
    }
    return { text: pieces.join(''), unmatchedAt }
  }
}
