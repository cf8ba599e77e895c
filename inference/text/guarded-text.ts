// Texts of users within a prompt. What a user writes must not become a control token of the model, though
// it be spelled like one: the template around it alone says where a message ends.
//
// A mark behind the first character of each such spelling goes through the template with the text,
// and says afterwards where no added token may begin.

/** A character that no text may have for others to read (Unicode, section 23.7). */
const MARK = '\uffff'

export interface GuardedText {
  readonly text: string
  /** Where no added token begins, whatever stands there. */
  readonly unmatchedAt: ReadonlySet<number>
}

/** Marks all spellings of special tokens in texts. */
export class TextGuard {
  readonly #spelling: RegExp | undefined

  constructor(specialTexts: readonly string[]) {
    const spellings = specialTexts.filter((text) => text !== '').map((text) => RegExp.escape(text))
    if (spellings.length > 0) this.#spelling = new RegExp(`(?=${spellings.join('|')})`, 'g')
  }

  mark(text: string): string {
    const clean = text.replaceAll(MARK, '')
    if (this.#spelling === undefined) return clean
    const marked = Array.from(clean.matchAll(this.#spelling), ({ index }) => index + 1)
    if (marked.length === 0) return clean
    const pieces = [0, ...marked].map((from, at) => clean.slice(from, marked[at]))
    return pieces.join(MARK)
  }

  /** Of a text that marked ones became part of. */
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
