/** Finds where a call ends while its text is still coming. */
export interface CallExtent {
  /** `text` is what was given before, and more. Answers the index after the end, once it is there. */
  endIn(text: string): number | undefined
}

/**
 * Finds where a JSON object or array ends while its text is still coming: after the bracket that
 * closes the first one. Only brackets outside strings count; whether they match is for the parser.
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
