// The tokens of the fields of one document. A document may have millions, and as objects they would take some
// fifty times its size. So a token is two numbers: of its term in a table, and its position.

import type { TermTable } from '../encoding/term-table.ts'
import { TOKENS_PER_CHUNK, type TokenChunk, type TokenSequence } from '../indexable-document.ts'

const LENGTH_MIN = 16
const LENGTH_FACTOR = 4

/** A list of tokens in chunks: a single array of millions is copied for longer than a step may take when it grows. */
export class TokenList implements TokenSequence {
  readonly terms: TermTable
  readonly chunks: OpenChunk[] = []
  readonly #lengthFirst: number
  #open: OpenChunk | undefined
  #length = 0

  /** `lengthExpected` is about how many tokens come first. */
  constructor(terms: TermTable, lengthExpected = LENGTH_MIN) {
    this.terms = terms
    this.#lengthFirst = Math.min(Math.max(lengthExpected, LENGTH_MIN), TOKENS_PER_CHUNK)
  }

  get length(): number {
    return this.#length
  }

  /** Undefined without a token. */
  get lastPosition(): number | undefined {
    const chunk = this.chunks.at(-1)
    return chunk?.pairs[2 * chunk.length - 1]
  }

  /** `term` is the number of the term. Positions never decrease. */
  push(term: number, position: number): void {
    let chunk = this.#open
    if (chunk === undefined || chunk.length === TOKENS_PER_CHUNK) {
      chunk = new OpenChunk(this.#lengthFirst)
      this.chunks.push(chunk)
      this.#open = chunk
    }
    chunk.push(term, position)
    this.#length += 1
  }
}

class OpenChunk implements TokenChunk {
  pairs: Uint32Array
  length = 0

  constructor(length: number) {
    this.pairs = new Uint32Array(2 * length)
  }

  push(term: number, position: number): void {
    const at = 2 * this.length
    if (at === this.pairs.length) this.#grow()
    this.pairs[at] = term
    this.pairs[at + 1] = position
    this.length += 1
  }

  #grow(): void {
    const length = Math.min(this.length * LENGTH_FACTOR, TOKENS_PER_CHUNK)
    const larger = new Uint32Array(2 * length)
    larger.set(this.pairs)
    this.pairs = larger
  }
}
