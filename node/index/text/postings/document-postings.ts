import type { Sliced } from '../../../../lib/sliced.ts'
import { GrowableUint32 } from '../../encoding/growable.ts'
import type { TokenChunk } from '../indexable-document.ts'

/**
 * The distinct terms of one field of the document that is being added, each in a slot. Slots are numbered
 * from 1, so that 0 stands for a term that the document has not had yet; the arrays are numbered from 0.
 */
export class DocumentPostings {
  readonly #terms = new GrowableUint32()
  readonly #freqs = new GrowableUint32()
  /** By term, the first position, and then the next free place for positions. */
  readonly #places = new GrowableUint32()
  /** By token, the slot of its term. */
  readonly #tokenSlots = new GrowableUint32()
  #hasRepeated = false

  /** Forgets the field before. */
  begin(): void {
    this.#terms.length = 0
    this.#freqs.length = 0
    this.#places.length = 0
    this.#tokenSlots.length = 0
    this.#hasRepeated = false
  }

  /** Makes room for tokens. */
  reserve(tokenCount: number): void {
    this.#tokenSlots.reserve(tokenCount)
  }

  get termCount(): number {
    return this.#terms.length
  }

  /** Whether any term occurs more than once. */
  get hasRepeated(): boolean {
    return this.#hasRepeated
  }

  /** Adds a token of a new term, and answers the term's slot. */
  addTerm(term: number, position: number): number {
    this.#terms.push(term)
    this.#freqs.push(1)
    this.#places.push(position)
    const slot = this.#terms.length
    this.#tokenSlots.push(slot)
    return slot
  }

  /** Adds a token of the term in the slot. */
  addAgain(slot: number): void {
    this.#freqs.values[slot - 1] = (this.#freqs.values[slot - 1] ?? 0) + 1
    this.#hasRepeated = true
    this.#tokenSlots.push(slot)
  }

  term(i: number): number {
    return this.#terms.values[i] ?? 0
  }

  freq(i: number): number {
    return this.#freqs.values[i] ?? 0
  }

  /** The first position, before `setPlace`. */
  position(i: number): number {
    return this.#places.values[i] ?? 0
  }

  /** The positions of the term go to this place and those behind it. */
  setPlace(i: number, place: number): void {
    this.#places.values[i] = place
  }

  /** Writes the positions of the terms that occur more than once, a chunk in each step. */
  *writePositions(
    chunks: readonly TokenChunk[],
    out: { readonly positions: Uint32Array },
  ): Sliced<void> {
    let from = 0
    for (const [i, chunk] of chunks.entries()) {
      if (i > 0) yield
      this.#writeChunk(chunk, from, out.positions)
      from += chunk.length
    }
  }

  #writeChunk(chunk: TokenChunk, from: number, out: Uint32Array): void {
    const slots = this.#tokenSlots.values
    const freqs = this.#freqs.values
    const places = this.#places.values
    for (let i = 0; i < chunk.length; i += 1) {
      const at = (slots[from + i] ?? 1) - 1
      if (freqs[at] === 1) continue
      const place = places[at] ?? 0
      out[place] = chunk.pairs[2 * i + 1] ?? 0
      places[at] = place + 1
    }
  }
}
