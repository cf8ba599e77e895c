// The terms of one text field of a memory segment.
//
//   a document's term ──► TermMap of its table ──► number in the field ──► text
//
// Invariants:
//   FT1  A text has one number, whichever tables know it: a term that one table brings is looked up in those
//        that came before.

import type { TermTable } from '../encoding/term-table.ts'
import { NO_TERM, TermMap } from './term-map.ts'

/** The string of a term, its place in the list, and in the order of terms. */
const TERM_BYTES = 64

/** Only one thread adds terms. Those that were added do not change. */
export class FieldTerms {
  /** By number. */
  readonly texts: string[] = []
  readonly #maps: TermMap[] = []
  #map: TermMap | undefined
  #textLength = 0
  #mapBytes = 0

  /** What the terms take: a character counts as a byte. */
  get bytes(): number {
    const mapBytes = this.#mapBytes + (this.#map?.bytes ?? 0)
    return this.texts.length * TERM_BYTES + this.#textLength + mapBytes
  }

  /** The documents that come next have the terms of this table. */
  begin(table: TermTable): TermMap {
    const known = this.#map
    if (known?.table === table) return known
    let map = this.#maps.find((one) => one.table === table)
    if (map === undefined) {
      map = new TermMap(table)
      this.#maps.push(map)
    }
    this.#map = map
    this.#mapBytes = this.#maps.reduce((sum, one) => (one === map ? sum : sum + one.bytes), 0)
    return map
  }

  /** The number of a text; undefined if the field has no such term. */
  find(text: string): number | undefined {
    for (const map of this.#maps) {
      const number = map.find(text)
      if (number !== NO_TERM) return number
    }
    return undefined
  }

  /** The number of a term that the map does not have yet, and whether it is new to the field. */
  add(map: TermMap, term: number): { readonly number: number; readonly isNew: boolean } {
    const text = map.table.at(term)
    const known = this.#maps.length > 1 ? this.find(text) : undefined
    const number = known ?? this.texts.length
    map.set(term, number)
    if (known !== undefined) return { number, isNew: false }
    this.texts.push(text)
    this.#textLength += text.length
    return { number, isNew: true }
  }
}
