// Terms within a few edits of a word: insertions, deletions, substitutions, and exchanges of two
// neighbours (optimal string alignment, which is what Lucene counts by default).
//
// The table of distances has a row for each beginning of the term. Terms that are tested one after the
// other in their order begin alike, and share the rows of what they have in common. Of a row only the
// diagonal band that the distance allows is computed and kept, about 5 cells at distance 2: a whole table
// for a word of ten thousand characters would take 100 MB.

import type { Fuzziness } from './query-tree.ts'

export interface EditDistance {
  readonly distance: number
  /** How many characters at the beginning must agree. */
  readonly prefixLength: number
}

export interface EditDistanceTest {
  /** Every term that is near enough begins with this. */
  readonly prefix: string
  /** How many edits the term is away; Infinity if that is too far. */
  readonly distanceTo: (term: string) => number
  /** What the term that was tested last begins with, and no near term; undefined if nothing shows it. */
  readonly deadEnd: () => string | undefined
  /** How many cells the tests have computed so far; a term of another length is one. */
  readonly cells: () => number
}

/** How many edits are allowed. */
export function distanceOf(word: string, fuzziness: Fuzziness): number {
  if (fuzziness !== 'auto') return fuzziness
  const length = Array.from(word).length
  if (length < 3) return 0
  return length <= 5 ? 1 : 2
}

export function editDistanceTest(word: string, options: EditDistance): EditDistanceTest {
  const { distance } = options
  const wanted = codePointsOf(word)
  const prefixLength = Math.min(options.prefixLength, wanted.length)
  const prefix = String.fromCodePoint(...wanted.slice(0, prefixLength))
  const rows = new DistanceRows(wanted.slice(prefixLength), distance)
  let last = ''
  return {
    prefix,
    distanceTo: (term) => {
      last = term
      if (!term.startsWith(prefix)) return rows.pass()
      const found = rows.distanceTo(term, prefix.length)
      return found <= distance ? found : Infinity
    },
    deadEnd: () => (rows.deadEnd === 0 ? undefined : last.slice(0, rows.deadEnd)),
    cells: () => rows.cells,
  }
}

class DistanceRows {
  cells = 0
  /** How many units of the last term no near term begins with; 0 if nothing shows it. */
  deadEnd = 0
  readonly #word: readonly number[]
  readonly #distance: number
  readonly #width: number
  /** Cells of a row that are kept: those within the distance of the diagonal, and one on either side. */
  readonly #band: number
  /** Row by row, for the beginnings of `term`; those up to `known` are computed. */
  readonly #cells: Uint8Array
  /** The least of each row. */
  readonly #least: Uint8Array
  readonly #term: Uint32Array
  #known = 0

  constructor(word: readonly number[], distance: number) {
    const lengthMax = word.length + distance
    this.#word = word
    this.#distance = distance
    this.#width = word.length + 1
    this.#band = 2 * distance + 3
    this.#cells = new Uint8Array((lengthMax + 1) * this.#band)
    this.#least = new Uint8Array(lengthMax + 1)
    this.#term = new Uint32Array(lengthMax)
    for (let column = 0; column <= distance + 1; column += 1) {
      this.#cells[this.#at(0, column)] = column
    }
  }

  /** Where the cell is kept; for cells of the band alone. */
  #at(row: number, column: number): number {
    return row * this.#band + column - row + this.#distance + 1
  }

  /** For a term that is none of ours. */
  pass(): number {
    this.deadEnd = 0
    return Infinity
  }

  /** From the unit `begin` on. What is above the distance is only known to be. */
  distanceTo(term: string, begin: number): number {
    this.deadEnd = 0
    this.cells += 1
    const far = this.#distance + 1
    // A character has one or two units.
    if (term.length - begin < this.#word.length - this.#distance) return far
    let row = 0
    for (let at = begin; at < term.length;) {
      if (row === this.#term.length) return far
      const code = term.codePointAt(at) ?? 0
      at += code > 0xffff ? 2 : 1
      if (row >= this.#known || this.#term[row] !== code) this.#begin(row, code)
      row += 1
      // An exchange reaches back two rows, so that one row out of reach alone decides nothing.
      if (this.#leastOf(row) < far || this.#leastOf(row - 1) < far - 1) continue
      this.deadEnd = at
      return far
    }
    const isNear = Math.abs(row - this.#word.length) <= this.#distance
    return isNear ? (this.#cells[this.#at(row, this.#width - 1)] ?? far) : far
  }

  /** The term goes on with another character, and what was behind it is forgotten. */
  #begin(row: number, code: number): void {
    this.#term[row] = code
    this.#known = row + 1
    this.#computeRow(row + 1)
  }

  /** The costs of turning each beginning of the word into `row` characters of the term. */
  #computeRow(row: number): void {
    const far = this.#distance + 1
    const begin = Math.max(1, row - this.#distance)
    const end = Math.min(this.#width - 1, row + this.#distance)
    let least = begin === 1 ? Math.min(row, far) : far
    this.#cells[this.#at(row, begin - 1)] = least
    for (let column = begin; column <= end; column += 1) {
      const cost = Math.min(this.#costOfStep(row, column), this.#costOfExchange(row, column), far)
      this.#cells[this.#at(row, column)] = cost
      if (cost < least) least = cost
    }
    // The next row looks one column further.
    if (end + 1 < this.#width) this.#cells[this.#at(row, end + 1)] = far
    this.#least[row] = least
    this.cells += end - begin + 1
  }

  /** By an insertion, a deletion, a substitution or nothing. */
  #costOfStep(row: number, column: number): number {
    const cells = this.#cells
    const isSame = this.#word[column - 1] === this.#term[row - 1]
    const replaced = (cells[this.#at(row - 1, column - 1)] ?? 0) + (isSame ? 0 : 1)
    const removed = (cells[this.#at(row - 1, column)] ?? 0) + 1
    const inserted = (cells[this.#at(row, column - 1)] ?? 0) + 1
    return Math.min(replaced, removed, inserted)
  }

  #costOfExchange(row: number, column: number): number {
    if (row < 2 || column < 2) return Infinity
    if (this.#word[column - 1] !== this.#term[row - 2]) return Infinity
    if (this.#word[column - 2] !== this.#term[row - 1]) return Infinity
    return (this.#cells[this.#at(row - 2, column - 2)] ?? 0) + 1
  }

  #leastOf(row: number): number {
    return this.#least[row] ?? 0
  }
}

function codePointsOf(text: string): readonly number[] {
  return Array.from(text, (character) => character.codePointAt(0) ?? 0)
}
