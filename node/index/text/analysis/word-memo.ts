// What the words of documents become, kept from one occurrence to the next. A word is looked up by its code
// units, so that most words of most texts cost neither a string nor an analysis.
//
//   word ──► hash ──► slots: hash, where the units begin, their number, what the word becomes ──► units
//
// Invariants:
//   WM1  A slot keeps its word until WORDS_MAX words are there; then all slots are emptied together.
//   WM2  A look-up examines PROBES_MAX slots at most. A word that finds these taken is analyzed each time:
//        words that were chosen for their equal hashes cost no more than unknown ones.

import type { TermTable } from '../encoding/term-table.ts'
import type { WordAnalysis } from './analyzer.ts'
import { WordUnits, WORD_UNITS_MAX } from './word-units.ts'

/** Some 6 MB. A larger table is copied for longer than a step may take when it grows. */
const WORDS_MAX = 131_072
const PROBES_MAX = 16
const SLOTS_FIRST = 64
const UNITS_FIRST = 512
const NO_SLOT = -1
/** What V8 takes for an array, and for each number in it. */
const LIST_BYTES = 48
const LISTED_TERM_BYTES = 8

/** The numbers of a slot. A length of 0 is an empty slot. */
const SLOT = { hash: 0, start: 1, length: 2, became: 3 } as const
const SLOT_WIDTH = 4
/** A word becomes no term, or one (twice its number, and 2), or a list (twice its number, and 1). */
const NO_TERM = 0

/** Takes terms, by their numbers in a table. */
export interface NumberedTokens {
  push(term: number, position: number): void
}

/** The words of one analyzer, whose terms have their numbers from one table. */
export class WordMemo {
  readonly #analysis: WordAnalysis
  readonly #terms: TermTable
  readonly #word: WordUnits
  #slots = new Uint32Array(SLOTS_FIRST * SLOT_WIDTH)
  #units: Uint16Array = new Uint16Array(UNITS_FIRST)
  #unitCount = 0
  #wordCount = 0
  #lists: (readonly number[])[] = []
  #listBytes = 0

  constructor(analysis: WordAnalysis, terms: TermTable) {
    this.#analysis = analysis
    this.#terms = terms
    this.#word = new WordUnits(analysis.ignoresCase)
  }

  /** What the memo takes. */
  get bytes(): number {
    return this.#slots.byteLength + this.#units.byteLength + this.#listBytes
  }

  /** Gives `out` the terms of words: `spans` has their starts and ends, and the first is at `position`. */
  addWords(text: string, spans: readonly number[], position: number, out: NumberedTokens): void {
    for (let at = 0; at < spans.length; at += 2) {
      const start = spans[at] ?? 0
      const end = spans[at + 1] ?? 0
      const slot = this.#slotOf(text, start, end)
      const became = slot === NO_SLOT ? NO_TERM : (this.#slots[slot + SLOT.became] ?? NO_TERM)
      const place = position + (at >> 1)
      if (slot === NO_SLOT) pushAll(this.#analyzed(text, start, end), place, out)
      else if ((became & 1) === 1) pushAll(this.#lists[became >>> 1] ?? [], place, out)
      else if (became !== NO_TERM) out.push((became >>> 1) - 1, place)
    }
  }

  #analyzed(text: string, start: number, end: number): readonly number[] {
    const terms = this.#analysis.termsOf(text.slice(start, end))
    return terms.map((term) => this.#terms.numberOf(term))
  }

  /** The slot of a word, which is learnt if it is new; NO_SLOT if the memo does not take it. */
  #slotOf(text: string, start: number, end: number): number {
    if (end - start > WORD_UNITS_MAX) return NO_SLOT
    this.#word.read(text, start, end)
    const slot = this.#find()
    if (slot === NO_SLOT || this.#slots[slot + SLOT.length] !== 0) return slot
    return this.#learn(this.#analyzed(text, start, end))
  }

  /** The slot of the word that was read, or the empty one where it belongs. */
  #find(): number {
    const slots = this.#slots
    const { hash, length } = this.#word
    const last = slots.length - SLOT_WIDTH
    let slot = (hash * SLOT_WIDTH) & last
    for (let probe = 0; probe < PROBES_MAX; probe += 1) {
      const known = slots[slot + SLOT.length] ?? 0
      if (known === 0) return slot
      if (known === length && slots[slot + SLOT.hash] === hash) {
        if (this.#word.isAt(this.#units, slots[slot + SLOT.start] ?? 0)) return slot
      }
      slot = (slot + SLOT_WIDTH) & last
    }
    return NO_SLOT
  }

  #learn(terms: readonly number[]): number {
    this.#makeRoom()
    const slot = this.#find()
    if (slot === NO_SLOT) return NO_SLOT
    const { hash, length } = this.#word
    // WM1: room is made before, since a list that is emptied with the slots would have no number.
    const became = this.#numberFor(terms)
    this.#slots[slot + SLOT.hash] = hash
    this.#slots[slot + SLOT.start] = this.#unitCount
    this.#slots[slot + SLOT.length] = length
    this.#slots[slot + SLOT.became] = became
    this.#units = this.#word.appendTo(this.#units, this.#unitCount)
    this.#unitCount += length
    this.#wordCount += 1
    return slot
  }

  #numberFor(terms: readonly number[]): number {
    const [first] = terms
    if (first === undefined) return NO_TERM
    if (terms.length === 1) return (first + 1) * 2
    this.#listBytes += LIST_BYTES + terms.length * LISTED_TERM_BYTES
    return this.#lists.push(terms) * 2 - 1
  }

  /** Keeps half of the slots empty. */
  #makeRoom(): void {
    const before = this.#slots
    if (this.#wordCount * 2 < before.length / SLOT_WIDTH) return
    if (this.#wordCount >= WORDS_MAX) {
      before.fill(0)
      this.#wordCount = 0
      this.#unitCount = 0
      this.#lists = []
      this.#listBytes = 0
      return
    }
    this.#slots = new Uint32Array(before.length * 2)
    for (let slot = 0; slot < before.length; slot += SLOT_WIDTH) {
      if (before[slot + SLOT.length] === 0) continue
      const to = emptySlot(this.#slots, before[slot + SLOT.hash] ?? 0)
      // WM2: the word is analyzed again when it comes.
      if (to === NO_SLOT) this.#wordCount -= 1
      else for (let i = 0; i < SLOT_WIDTH; i += 1) this.#slots[to + i] = before[slot + i] ?? 0
    }
  }
}

function emptySlot(slots: Uint32Array, hash: number): number {
  const last = slots.length - SLOT_WIDTH
  let slot = (hash * SLOT_WIDTH) & last
  for (let probe = 0; probe < PROBES_MAX; probe += 1) {
    if (slots[slot + SLOT.length] === 0) return slot
    slot = (slot + SLOT_WIDTH) & last
  }
  return NO_SLOT
}

function pushAll(terms: readonly number[], position: number, out: NumberedTokens): void {
  for (const term of terms) out.push(term, position)
}
