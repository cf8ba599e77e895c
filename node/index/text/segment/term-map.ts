// The numbers of a field's terms, by the numbers that documents have for them.

import type { TermTable } from '../encoding/term-table.ts'

const SLOTS_FIRST = 16
const SLOT_WIDTH = 2
/** A field of this many terms has one number for each term of the table: a look-up reads a single word. */
const LISTED_MIN = 4096
/** Terms whose numbers were chosen to meet in few slots are listed, too: 4,095 of them took 1.6 µs for each look-up. */
const PROBES_MAX = 64
/** 2^32 over the golden ratio: spreads numbers that follow each other. */
const HASH_FACTOR = 0x9e37_79b1
export const NO_TERM = -1

/** The terms of one table of documents, as numbers of one field. */
export class TermMap {
  readonly table: TermTable
  /** By term of the table, the field's number and one; empty for a field of few terms. */
  #listed = new Uint32Array(0)
  /** Pairs: a term of the table and one (0 is an empty slot), and the field's number. */
  #slots = new Uint32Array(SLOTS_FIRST * SLOT_WIDTH)
  #shift = 32 - Math.log2(SLOTS_FIRST)
  #count = 0

  constructor(table: TermTable) {
    this.table = table
  }

  get bytes(): number {
    return this.#listed.byteLength + this.#slots.byteLength
  }

  /** As `get`, by the text of the term. */
  find(text: string): number {
    const term = this.table.find(text)
    return term === undefined ? NO_TERM : this.get(term)
  }

  /** NO_TERM for a term that was not `set`. */
  get(term: number): number {
    const listed = this.#listed
    if (listed.length > 0) return (listed[term] ?? 0) - 1
    const slots = this.#slots
    const slot = slotOf(slots, this.#shift, term)
    return slots[slot] === 0 ? NO_TERM : (slots[slot + 1] ?? 0)
  }

  /** The term has not been set before. */
  set(term: number, number: number): void {
    if (this.#listed.length === 0) this.#setSlot(term, number)
    else this.#setListed(term, number)
  }

  #setListed(term: number, number: number): void {
    if (this.#listed.length <= term) {
      const larger = new Uint32Array(Math.max(term + 1, this.#listed.length * 2))
      larger.set(this.#listed)
      this.#listed = larger
    }
    this.#listed[term] = number + 1
  }

  #setSlot(term: number, number: number): void {
    if (this.#count === LISTED_MIN || this.#isCrowded(term)) {
      this.#list()
      this.#setListed(term, number)
      return
    }
    if (this.#count * 2 * SLOT_WIDTH >= this.#slots.length) this.#grow()
    place(this.#slots, this.#shift, { term, number })
    this.#count += 1
  }

  #isCrowded(term: number): boolean {
    const first = (Math.imul(term, HASH_FACTOR) >>> this.#shift) * SLOT_WIDTH
    const distance = slotOf(this.#slots, this.#shift, term) - first
    return (distance & (this.#slots.length - 1)) > PROBES_MAX * SLOT_WIDTH
  }

  #grow(): void {
    const before = this.#slots
    this.#slots = new Uint32Array(before.length * 2)
    this.#shift -= 1
    for (let slot = 0; slot < before.length; slot += SLOT_WIDTH) {
      const term = before[slot] ?? 0
      if (term === 0) continue
      place(this.#slots, this.#shift, { term: term - 1, number: before[slot + 1] ?? 0 })
    }
  }

  #list(): void {
    const before = this.#slots
    this.#slots = new Uint32Array(0)
    this.#listed = new Uint32Array(this.table.size)
    for (let slot = 0; slot < before.length; slot += SLOT_WIDTH) {
      const term = before[slot] ?? 0
      if (term !== 0) this.#setListed(term - 1, before[slot + 1] ?? 0)
    }
  }
}

interface Pair {
  readonly term: number
  readonly number: number
}

function place(slots: Uint32Array, shift: number, { term, number }: Pair): void {
  const slot = slotOf(slots, shift, term)
  slots[slot] = term + 1
  slots[slot + 1] = number
}

/** The slot of the term, or the empty one where it belongs. At least half of the slots are empty. */
function slotOf(slots: Uint32Array, shift: number, term: number): number {
  const last = slots.length - SLOT_WIDTH
  let slot = (Math.imul(term, HASH_FACTOR) >>> shift) * SLOT_WIDTH
  for (;;) {
    const found = slots[slot] ?? 0
    if (found === 0 || found === term + 1) return slot
    slot = (slot + SLOT_WIDTH) & last
  }
}
