// Finds terms within a few edits of a word: insertions, deletions, substitutions, and
// transpositions of two neighbours (optimal string alignment, which Lucene counts by default).
//
// The table of distances has a row for each prefix of the term. Terms are tested in their order, so
// neighbours share prefixes and the rows of these prefixes. Of each row, only the diagonal band
// within the distance is computed and kept, about 5 cells at distance 2. A whole table for a word
// of ten thousand characters would take 100 MB.

import type { Fuzziness } from './query-tree.ts'

/** How far a term may be from the word. */
export interface EditDistance {
  readonly distance: number
  /** How many characters at the beginning must be equal. */
  readonly prefixLength: number
}

/** Tests terms against one word. Terms in ascending order are tested fastest. */
export interface EditDistanceTest {
  /** The common beginning of all terms that can match. */
  readonly prefix: string
  /** The number of edits from the word to the term; Infinity if it is above the limit. */
  readonly distanceTo: (term: string) => number
  /**
   * A prefix of the last term that no matching term begins with; undefined if the test found none.
   */
  readonly deadEnd: () => string | undefined
  /**
   * The number of cells that the tests have computed so far. A term that its length excludes counts
   * as one.
   */
  readonly cells: () => number
}

/** The number of allowed edits for a word. */
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
  /**
   * The length in code units of the prefix that `EditDistanceTest.deadEnd` answers; 0 if there is
   * none.
   */
  deadEnd = 0
  readonly #word: readonly number[]
  readonly #distance: number
  readonly #width: number
  /**
   * The cells of a row that are kept: those within the distance of the diagonal, and one on each
   * side.
   */
  readonly #band: number
  /** The cells, row by row, for the prefixes of `#term`. Rows up to `#known` are computed. */
  readonly #cells: Uint8Array
  /** The smallest cell of each row. */
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

  /** The index of a cell of the band. */
  #at(row: number, column: number): number {
    return row * this.#band + column - row + this.#distance + 1
  }

  /** Records a term that cannot match. */
  pass(): number {
    this.deadEnd = 0
    return Infinity
  }

  /**
   * The distance of the term from the unit `begin` on. A result above the limit is only a lower
   * bound.
   */
  distanceTo(term: string, begin: number): number {
    this.deadEnd = 0
    this.cells += 1
    const far = this.#distance + 1
    // A character has one or two code units.
    if (term.length - begin < this.#word.length - this.#distance) return far
    let row = 0
    for (let at = begin; at < term.length;) {
      if (row === this.#term.length) return far
      const code = term.codePointAt(at) ?? 0
      at += code > 0xffff ? 2 : 1
      if (row >= this.#known || this.#term[row] !== code) this.#begin(row, code)
      row += 1
      // A transposition reaches back two rows, so one row above the limit does not end the search.
      if (this.#leastOf(row) < far || this.#leastOf(row - 1) < far - 1) continue
      this.deadEnd = at
      return far
    }
    const isNear = Math.abs(row - this.#word.length) <= this.#distance
    return isNear ? (this.#cells[this.#at(row, this.#width - 1)] ?? far) : far
  }

  /** Sets the next character of the term and forgets the rows behind it. */
  #begin(row: number, code: number): void {
    this.#term[row] = code
    this.#known = row + 1
    this.#computeRow(row + 1)
  }

  /** Computes the costs of turning each prefix of the word into `row` characters of the term. */
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
    // The next row reads one column further.
    if (end + 1 < this.#width) this.#cells[this.#at(row, end + 1)] = far
    this.#least[row] = least
    this.cells += end - begin + 1
  }

  /** The cost by an insertion, a deletion, a substitution or an equal character. */
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
