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
  const rest = wanted.slice(prefixLength)
  return {
    prefix,
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
  let beforeLast: readonly number[] = []
  let last: readonly number[] = Array.from({ length: right.length + 1 }, (_, at) =>
    Math.min(at, far),
  )
  for (let row = 1; row <= left.length; row += 1) {
    const next = nextRow({ left, right, row, distance, last, beforeLast })
    // An exchange reaches back two rows, so one hopeless row alone decides nothing.
    if (next.every((cost) => cost > distance) && last.every((cost) => cost > distance)) return false
    beforeLast = last
    last = next
  }
  return (last[right.length] ?? far) <= distance
}

interface Row {
  readonly left: readonly number[]
  readonly right: readonly number[]
  readonly row: number
  readonly distance: number
  readonly last: readonly number[]
  readonly beforeLast: readonly number[]
}

/** The costs of turning the first `row` characters of `left` into each beginning of `right`. */
function nextRow({ left, right, row, distance, last, beforeLast }: Row): readonly number[] {
  const far = distance + 1
  const next = Array<number>(right.length + 1).fill(far)
  next[0] = Math.min(row, far)
  const end = Math.min(right.length, row + distance)
  for (let column = Math.max(1, row - distance); column <= end; column += 1) {
    const here = left[row - 1]
    const there = right[column - 1]
    const replaced = (last[column - 1] ?? far) + (here === there ? 0 : 1)
    const shifted = Math.min(last[column] ?? far, next[column - 1] ?? far) + 1
    // In front of the first character both are undefined, and then nothing was exchanged.
    const isSwap = row > 1 && here === right[column - 2] && left[row - 2] === there
    const swapped = isSwap ? (beforeLast[column - 2] ?? far) + 1 : far
    next[column] = Math.min(replaced, shifted, swapped, far)
  }
  return next
}

function codePointsOf(text: string): readonly number[] {
  return Array.from(text, (character) => character.codePointAt(0) ?? 0)
}
