// The tokens of the fields of one document. A document may have millions, and as objects they would take some
// fifty times its size. So a token is two numbers: of its term in a table, and its position.

import type { TermTable } from '../encoding/term-table.ts'
import { TOKENS_PER_CHUNK, type TokenChunk, type TokenSequence } from '../indexable-document.ts'

const LENGTH_FIRST = 16

/** A list of tokens in chunks: a single array of millions is copied for longer than a step may take when it grows. */
export class TokenList implements TokenSequence {
  readonly terms: TermTable
  readonly chunks: OpenChunk[] = []
  #open: OpenChunk | undefined
  #length = 0

  constructor(terms: TermTable) {
    this.terms = terms
  }

  get length(): number {
    return this.#length
  }

  /** Undefined without a token. */
  get lastPosition(): number | undefined {
    const { positions, length } = this.chunks.at(-1) ?? { positions: [], length: 0 }
    return positions[length - 1]
  }

  /** `term` is the number of the term. Positions never decrease. */
  push(term: number, position: number): void {
    let chunk = this.#open
    if (chunk === undefined || chunk.length === TOKENS_PER_CHUNK) {
      chunk = new OpenChunk()
      this.chunks.push(chunk)
      this.#open = chunk
    }
    chunk.push(term, position)
    this.#length += 1
  }
}

class OpenChunk implements TokenChunk {
  terms: Uint32Array = new Uint32Array(LENGTH_FIRST)
  positions: Uint32Array = new Uint32Array(LENGTH_FIRST)
  length = 0

  push(term: number, position: number): void {
    if (this.length === this.terms.length) {
      this.terms = grown(this.terms)
      this.positions = grown(this.positions)
    }
    this.terms[this.length] = term
    this.positions[this.length] = position
    this.length += 1
  }
}

function grown(values: Uint32Array): Uint32Array {
  const larger = new Uint32Array(Math.min(values.length * 4, TOKENS_PER_CHUNK))
  larger.set(values)
  return larger
}
