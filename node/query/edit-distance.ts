// Terms within a few edits of a word: insertions, deletions, substitutions, and exchanges of two
// neighbours (optimal string alignment, which is what Lucene counts by default).
//
// Only the diagonal band that the distance allows is computed, about 5 cells for each character at
// distance 2, and two rows without a cell in reach end the comparison.

import type { Fuzziness } from './query-tree.ts'

export interface EditDistance {
  readonly distance: number
  /** How many characters at the beginning must agree. */
  readonly prefixLength: number
}

export interface EditDistanceTest {
  /** Every term that is near enough begins with this. */
  readonly prefix: string
  readonly matches: (term: string) => boolean
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
  const band = new DistanceBand(wanted.slice(prefixLength), distance)
  return {
    prefix,
    matches: (term) => {
      // A character has one or two units, so very different lengths need no look.
      const isNear = term.length <= word.length + 2 * distance && term.startsWith(prefix)
      return isNear ? band.reaches(term, prefix.length) : false
    },
    cells: () => band.cells,
  }
}

/** The table of distances between the beginnings of a word and of a term, row by row of the word. */
class DistanceBand {
  cells = 0
  readonly #word: readonly number[]
  readonly #distance: number
  readonly #term: Uint32Array
  /** Three rows, used in turn. */
  #beforeLast: Uint8Array
  #last: Uint8Array
  #next: Uint8Array

  constructor(word: readonly number[], distance: number) {
    this.#word = word
    this.#distance = distance
    const columns = word.length + distance + 2
    this.#term = new Uint32Array(columns)
    this.#beforeLast = new Uint8Array(columns)
    this.#last = new Uint8Array(columns)
    this.#next = new Uint8Array(columns)
  }

  /** Whether the term from `begin` on is near enough. */
  reaches(term: string, begin: number): boolean {
    const length = this.#readTerm(term, begin)
    this.cells += 1
    if (Math.abs(length - this.#word.length) > this.#distance) return false
    const far = this.#distance + 1
    for (let column = 0; column <= length; column += 1) this.#last[column] = Math.min(column, far)
    let isLastHopeless = false
    for (let row = 1; row <= this.#word.length; row += 1) {
      const isHopeless = this.#computeRow(row, length)
      // An exchange reaches back two rows, so one hopeless row alone decides nothing.
      if (isHopeless && isLastHopeless) return false
      isLastHopeless = isHopeless
      const free = this.#beforeLast
      this.#beforeLast = this.#last
      this.#last = this.#next
      this.#next = free
    }
    return (this.#last[length] ?? far) <= this.#distance
  }

  /** Answers its characters, of which one too many is enough. */
  #readTerm(term: string, begin: number): number {
    let length = 0
    for (let at = begin; at < term.length; length += 1) {
      if (length > this.#word.length + this.#distance) return length
      const code = term.codePointAt(at) ?? 0
      this.#term[length] = code
      at += code > 0xffff ? 2 : 1
    }
    return length
  }

  /** The costs of turning `row` characters of the word into each beginning; whether all are too high. */
  #computeRow(row: number, length: number): boolean {
    const far = this.#distance + 1
    const next = this.#next
    const begin = Math.max(1, row - this.#distance)
    const end = Math.min(length, row + this.#distance)
    let least = begin === 1 ? Math.min(row, far) : far
    next[begin - 1] = least
    for (let column = begin; column <= end; column += 1) {
      const cost = Math.min(this.#costOfStep(row, column), this.#costOfExchange(row, column), far)
      next[column] = cost
      if (cost < least) least = cost
    }
    this.cells += end - begin + 1
    return least >= far
  }

  /** By an insertion, a deletion, a substitution or nothing. */
  #costOfStep(row: number, column: number): number {
    const far = this.#distance + 1
    const isSame = this.#word[row - 1] === this.#term[column - 1]
    const replaced = (this.#last[column - 1] ?? far) + (isSame ? 0 : 1)
    // The row before ends one column earlier.
    const above = column === row + this.#distance ? far : (this.#last[column] ?? far)
    return Math.min(replaced, above + 1, (this.#next[column - 1] ?? far) + 1)
  }

  #costOfExchange(row: number, column: number): number {
    if (row < 2 || column < 2) return Infinity
    if (this.#word[row - 1] !== this.#term[column - 2]) return Infinity
    if (this.#word[row - 2] !== this.#term[column - 1]) return Infinity
    return (this.#beforeLast[column - 2] ?? this.#distance + 1) + 1
  }
}

function codePointsOf(text: string): readonly number[] {
  return Array.from(text, (character) => character.codePointAt(0) ?? 0)
}
