/** Finds the end of a tool call while its text is still arriving. */
export interface CallExtent {
  /**
   * The index after the end of the call; undefined while the end is missing. Each call passes the
   * whole text so far.
   */
  endIn(text: string): number | undefined
}

/**
 * A JSON object or array ends after the bracket that closes the first one. Only brackets outside
 * strings count. The parser checks whether they match.
 */
export class JsonExtent implements CallExtent {
  #depth = 0
  #isInString = false
  #isEscaped = false
  #seen = 0

  endIn(text: string): number | undefined {
    while (this.#seen < text.length) {
      const character = text.charAt(this.#seen)
      this.#seen += 1
      if (this.#isInString) this.#stepInString(character)
      else if (this.#closes(character)) return this.#seen
    }
    return undefined
  }

  #stepInString(character: string): void {
    if (this.#isEscaped) this.#isEscaped = false
    else if (character === '\\') this.#isEscaped = true
    else if (character === '"') this.#isInString = false
  }

  #closes(character: string): boolean {
    if (character === '"') this.#isInString = true
    else if (character === '{' || character === '[') this.#depth += 1
    else if (character === '}' || character === ']') {
      this.#depth -= 1
      return this.#depth <= 0
    }
    return false
  }
}
