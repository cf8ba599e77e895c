import type { DocumentTerms } from './document-terms.ts'

/** For an index that has its thread for itself, such as one that tests documents. */
const BYTES_MAX_DEFAULT = 16 * 2 ** 20
/** What the words of a table take at least. */
const TABLE_BYTES = 4096

interface Kept {
  terms: DocumentTerms
  /** What they took when documents of this table last followed those of another one. */
  bytes: number
}

/**
 * The words of the tables whose documents one thread indexes. When all of them take more than `bytesMax`, those of
 * the tables are forgotten whose documents came least lately. A table that takes more alone begins anew.
 */
export class WordMemory {
  readonly #bytesMax: number
  /** By table, in the order of their last documents. */
  readonly #kept = new Map<object, Kept>()
  #last: object | undefined
  #bytes = 0

  constructor(bytesMax = BYTES_MAX_DEFAULT) {
    this.#bytesMax = bytesMax
  }

  /** About what the words take, but for the newest of the table that has had the last document. */
  get bytes(): number {
    return this.#bytes
  }

  /** The terms for the next document of a table. */
  termsOf(table: object, make: () => DocumentTerms): DocumentTerms {
    const known = this.#kept.get(table)
    if (known === undefined) {
      const made = { terms: make(), bytes: 0 }
      this.#kept.set(table, made)
      this.#turnTo(table)
      return made.terms
    }
    if (this.#last !== table) this.#turnTo(table)
    if (known.terms.isFull || known.terms.bytes > this.#bytesMax) known.terms = make()
    return known.terms
  }

  #turnTo(table: object): void {
    for (const one of [this.#last, table]) this.#count(one)
    this.#last = table
    const kept = this.#kept.get(table)
    if (kept === undefined) return
    this.#kept.delete(table)
    this.#kept.set(table, kept)
    for (const [other, { bytes }] of this.#kept) {
      if (this.#bytes <= this.#bytesMax || other === table) break
      this.#kept.delete(other)
      this.#bytes -= bytes
    }
  }

  #count(table: object | undefined): void {
    const kept = table === undefined ? undefined : this.#kept.get(table)
    if (kept === undefined) return
    const bytes = TABLE_BYTES + kept.terms.bytes
    this.#bytes += bytes - kept.bytes
    kept.bytes = bytes
  }
}
