// The tokens of the fields of one document. A document may have millions, and as objects they would take some
// fifty times its size. So all but the newest tokens of a field are two numbers each.

import type { IndexableToken, TokenSequence } from '../indexable-document.ts'

const CHUNK_LENGTH = 16_384

/** The terms of all long fields of a document: most fields share them with the field of all texts. */
export class TermTable {
  readonly #ids = new Map<string, number>()
  readonly #texts: string[] = []

  idOf(term: string): number {
    const known = this.#ids.get(term)
    if (known !== undefined) return known
    const id = this.#texts.length
    this.#ids.set(term, id)
    this.#texts.push(term)
    return id
  }

  at(id: number): string {
    return this.#texts[id] ?? ''
  }
}

/** A full chunk: the number of the term, and the position, of each token. */
interface PackedChunk {
  readonly terms: Uint32Array
  readonly positions: Uint32Array
}

/**
 * A list of tokens in chunks. A plain array of millions is copied as a whole when it grows, which takes longer
 * than a step may. Short texts have one chunk, which stays as it was added.
 */
export class TokenList implements TokenSequence {
  readonly #table: TermTable
  readonly #full: PackedChunk[] = []
  #open: IndexableToken[] = []
  #last: IndexableToken | undefined

  constructor(table = new TermTable()) {
    this.#table = table
  }

  get length(): number {
    return this.#full.length * CHUNK_LENGTH + this.#open.length
  }

  get last(): IndexableToken | undefined {
    return this.#last
  }

  /** Adds a token. Answers the new length. */
  push(token: IndexableToken): number {
    if (this.#open.length === CHUNK_LENGTH) {
      this.#full.push(this.#packed(this.#open))
      this.#open = []
    }
    this.#open.push(token)
    this.#last = token
    return this.length
  }

  slice(from: number, to: number): readonly IndexableToken[] {
    const first = Math.floor(from / CHUNK_LENGTH)
    const start = first * CHUNK_LENGTH
    const found = this.#sliceOf(first, from - start, to - start)
    const next = start + CHUNK_LENGTH
    return next >= Math.min(to, this.length) ? found : [...found, ...this.slice(next, to)]
  }

  #sliceOf(chunk: number, from: number, to: number): readonly IndexableToken[] {
    const full = this.#full[chunk]
    if (full === undefined) return this.#open.slice(from, to)
    const tokens: IndexableToken[] = []
    const end = Math.min(to, CHUNK_LENGTH)
    for (let i = from; i < end; i += 1) {
      tokens.push({ term: this.#table.at(full.terms[i] ?? 0), position: full.positions[i] ?? 0 })
    }
    return tokens
  }

  #packed(tokens: readonly IndexableToken[]): PackedChunk {
    const terms = new Uint32Array(CHUNK_LENGTH)
    const positions = new Uint32Array(CHUNK_LENGTH)
    for (const [i, { term, position }] of tokens.entries()) {
      terms[i] = this.#table.idOf(term)
      positions[i] = position
    }
    return { terms, positions }
  }
}
