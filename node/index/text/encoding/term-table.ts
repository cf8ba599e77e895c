import { TermNumbers } from './term-numbers.ts'

/** The string of a term and the entries that refer to it take about as much beside its characters. */
const TERM_BYTES = 72
/** In V8, a piece of a text that is this long refers to the text, and would keep it alive. */
const PIECE_LENGTH_MIN = 13
const HAS_WIDE_UNIT = /[^\0-\xff]/

/**
 * Terms by number, in the order of their first use. The fields of many documents share it, so that a word
 * that occurs again is a number from its first look-up on, and no string.
 */
export class TermTable {
  readonly #numbers = new TermNumbers()
  /** The terms by their numbers. Only `numberOf` adds to them. */
  readonly texts: string[] = []
  #textLength = 0

  get size(): number {
    return this.texts.length
  }

  /** About what the table takes. */
  get bytes(): number {
    return this.texts.length * TERM_BYTES + this.#textLength
  }

  /**
   * The number of a term, which is added if it is new. UTF-8 has no lone surrogates: they become U+FFFD before
   * two terms can become one.
   */
  numberOf(term: string): number {
    const wellFormed = term.isWellFormed() ? term : term.toWellFormed()
    const known = this.#numbers.get(wellFormed)
    if (known !== undefined) return known
    const number = this.texts.length
    const own = ownCopy(wellFormed)
    this.#numbers.set(own, number)
    this.texts.push(own)
    this.#textLength += term.length
    return number
  }

  /** Undefined for a term that was not added. */
  find(term: string): number | undefined {
    return this.#numbers.get(term)
  }

  at(number: number): string {
    return this.texts[number] ?? ''
  }
}

function ownCopy(term: string): string {
  if (term.length < PIECE_LENGTH_MIN) return term
  const encoding = HAS_WIDE_UNIT.test(term) ? 'utf16le' : 'latin1'
  return Buffer.from(term, encoding).toString(encoding)
}
