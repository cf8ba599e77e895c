// Counts the occurrences of a phrase. The input is one list for each place of the phrase: the
// positions of its terms in a document minus the offset of the place. An exact occurrence is one
// number that every list has.
//
// With slop, an occurrence is one entry of each list; its width is the greatest less the least, and
// it counts 1 / (1 + width) if the width is at most the slop. As in Lucene, the list with the least
// entry moves on as long as it stays the least, and the narrowest of these is the occurrence. One
// token cannot stand for two positions of the phrase.

import type { Sliced } from '../../../../lib/sliced.ts'
import type { Poll } from '../poll.ts'

/** The cost of one look at all places of a sloppy phrase, for each list. */
const COST_PER_LIST = 16
/** The entries of each list that are read between two looks at the poll. */
const ENTRIES_PER_LOOK = 64

/** The positions of one place of the phrase in a document, ascending, with repeats. */
export interface FoundPositions {
  readonly values: Uint32Array
  readonly length: number
}

/** The found positions minus the offset of their place, which may be below 0. */
export interface ShiftedPositions {
  readonly offset: number
  readonly found: FoundPositions
  /** How far a comparison has come. */
  at: number
}

/**
 * Counts the occurrences in order. It yields when the poll is due, and the caller renews the poll.
 */
export function* exactFrequency(lists: readonly ShiftedPositions[], poll: Poll): Sliced<number> {
  const length = lists[0]?.found.length ?? 0
  let frequency = 0
  beginAll(lists)
  for (let from = 0; from < length; from += ENTRIES_PER_LOOK) {
    const to = Math.min(from + ENTRIES_PER_LOOK, length)
    frequency += exactBetween(lists, from, to)
    if (poll.spend((to - from) * lists.length)) yield
  }
  return frequency
}

/** The same for lists that are known to be short. */
export function exactFrequencyAtOnce(lists: readonly ShiftedPositions[]): number {
  beginAll(lists)
  return exactBetween(lists, 0, lists[0]?.found.length ?? 0)
}

function beginAll(lists: readonly ShiftedPositions[]): void {
  for (const list of lists) list.at = 0
}

/** Counts the occurrences that begin with these entries of the first list. */
function exactBetween(lists: readonly ShiftedPositions[], from: number, to: number): number {
  const [first] = lists
  if (first === undefined) return 0
  const { values } = first.found
  let frequency = 0
  for (let i = from; i < to; i += 1) {
    if (i > 0 && values[i] === values[i - 1]) continue
    const value = (values[i] ?? 0) - first.offset
    let agreed = 1
    while (agreed < lists.length && reaches(lists[agreed] ?? first, value)) agreed += 1
    if (agreed === lists.length) frequency += 1
  }
  return frequency
}

/** Moves to the first entry at or above `value`, and returns whether it is the value. */
function reaches(list: ShiftedPositions, value: number): boolean {
  const { values, length } = list.found
  const wanted = value + list.offset
  let { at } = list
  while (at < length && (values[at] ?? 0) < wanted) at += 1
  list.at = at
  return at < length && values[at] === wanted
}

/**
 * Counts the occurrences with slop. It yields when the poll is due, and the caller renews the poll.
 * `occurred` is told the entry of each list for every occurrence that counts.
 */
export function* sloppyFrequency(
  lists: readonly ShiftedPositions[],
  slop: number,
  poll: Poll,
  occurred?: (entries: readonly number[]) => void,
): Sliced<number> {
  const places = lists.map(() => 0)
  const valueOf = (l: number): number => {
    const list = lists[l]
    return list === undefined ? 0 : (list.found.values[places[l] ?? 0] ?? 0) - list.offset
  }
  const lengthOf = (l: number): number => lists[l]?.found.length ?? 0
  let greatest = lists.reduce((most, _, l) => Math.max(most, valueOf(l)), -Infinity)
  let frequency = 0
  for (;;) {
    const least = leastList(lists.length, valueOf)
    const next = secondLeast(lists.length, least, valueOf)
    let width = Infinity
    let narrowest = 0
    const end = lengthOf(least)
    for (let at = places[least] ?? 0; at < end && valueOf(least) <= next; at += 1) {
      const here = greatest - valueOf(least)
      if (here < width && !sharesToken(lists, valueOf)) {
        width = here
        narrowest = at
      }
      places[least] = at + 1
      if (poll.spend(lists.length * COST_PER_LIST)) yield
    }
    if (width <= slop) {
      frequency += 1 / (1 + width)
      occurred?.(places.with(least, narrowest))
    }
    if ((places[least] ?? 0) >= end) return frequency
    greatest = Math.max(greatest, valueOf(least))
  }
}

function leastList(count: number, valueOf: (l: number) => number): number {
  let least = 0
  for (let l = 1; l < count; l += 1) if (valueOf(l) < valueOf(least)) least = l
  return least
}

function secondLeast(count: number, least: number, valueOf: (l: number) => number): number {
  let value = Infinity
  for (let l = 0; l < count; l += 1) if (l !== least) value = Math.min(value, valueOf(l))
  return value
}

function sharesToken(lists: readonly ShiftedPositions[], valueOf: (l: number) => number): boolean {
  const tokens = new Set(lists.map(({ offset }, l) => valueOf(l) + offset))
  return tokens.size < lists.length
}
