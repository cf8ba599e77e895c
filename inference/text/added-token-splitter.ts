/** A part of a text that is an added token, or lies between two of them. */
export interface Section {
  readonly text: string
  readonly start: number
  readonly isAdded: boolean
}

export interface AddedTokenShape {
  readonly content: string
  /** Takes the white space on its left or right with it. */
  readonly lstrip: boolean
  readonly rstrip: boolean
}

/** Cuts added tokens out of texts: at each place the longest one wins, as the library has it. */
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

  split(text: string): Section[] {
    const sections: Section[] = []
    let from = 0
    let at = 0
    while (at < text.length) {
      const token = this.#tokenAt(text, at)
      if (token === undefined) {
        at += 1
        continue
      }
      const before = text.slice(from, at)
      addText(sections, token.lstrip ? before.trimEnd() : before, from)
      sections.push({ text: token.content, start: at, isAdded: true })
      at += token.content.length
      if (token.rstrip) at += leadingSpace(text.slice(at))
      from = at
    }
    addText(sections, text.slice(from), from)
    return sections
  }

  #tokenAt(text: string, at: number): AddedTokenShape | undefined {
    const alike = this.#tokensByStart.get(text.charAt(at))
    return alike?.find(({ content }) => text.startsWith(content, at))
  }
}

function addText(sections: Section[], text: string, start: number): void {
  if (text !== '') sections.push({ text, start, isAdded: false })
}

function leadingSpace(text: string): number {
  return text.length - text.trimStart().length
}
