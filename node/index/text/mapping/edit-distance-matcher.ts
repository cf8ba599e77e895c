// Terms within a few edits of a word: insertions, deletions, substitutions, and exchanges of two
// neighbours (optimal string alignment, which is what Lucene counts by default).
//
// Only the diagonal band that the distance allows is computed, and a row without a cell in reach
// ends the comparison: about 5 cells for each character at distance 2.

import type { TermMatcher } from '../engine-query.ts'

export interface EditDistance {
  readonly distance: number
  /** How many characters at the beginning must agree. */
  readonly prefixLength: number
}

export function editDistanceMatcher(word: string, options: EditDistance): TermMatcher {
  const { distance } = options
  const wanted = codePointsOf(word)
  const prefixLength = Math.min(options.prefixLength, wanted.length)
  const prefix = String.fromCodePoint(...wanted.slice(0, prefixLength))
  const rest = wanted.slice(prefixLength)
  return {
    prefix,
    upTo: undefined,
    matches: (term) => {
      // A character has one or two units, so very different lengths need no look.
      if (term.length > word.length + 2 * distance || !term.startsWith(prefix)) return false
      return isWithin(rest, codePointsOf(term.slice(prefix.length)), distance)
    },
  }
}

function isWithin(left: readonly number[], right: readonly number[], distance: number): boolean {
  if (Math.abs(left.length - right.length) > distance) return false
  const far = distance + 1
  let beforeLast: number[] = []
  let last = Array.from({ length: right.length + 1 }, (_, column) => Math.min(column, far))
  for (let row = 1; row <= left.length; row += 1) {
    const next = Array<number>(right.length + 1).fill(far)
    let best = far
    if (row <= distance) best = next[0] = row
    const end = Math.min(right.length, row + distance)
    for (let column = Math.max(1, row - distance); column <= end; column += 1) {
      const isSame = left[row - 1] === right[column - 1]
      const replaced = (last[column - 1] ?? far) + (isSame ? 0 : 1)
      const shifted = Math.min(last[column] ?? far, next[column - 1] ?? far) + 1
      const isSwap =
        row > 1 &&
        column > 1 &&
        left[row - 1] === right[column - 2] &&
        left[row - 2] === right[column - 1]
      const swapped = isSwap ? (beforeLast[column - 2] ?? far) + 1 : far
      const cost = Math.min(replaced, shifted, swapped, far)
      next[column] = cost
      best = Math.min(best, cost)
    }
    // An exchange can still reach back two rows, but it costs one more than a cell there.
    if (best > distance && Math.min(...last) >= distance) return false
    beforeLast = last
    last = next
  }
  return (last[right.length] ?? far) <= distance
}

function codePointsOf(text: string): readonly number[] {
  return Array.from(text, (character) => character.codePointAt(0) ?? 0)
}
