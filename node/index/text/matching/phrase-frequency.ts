// How often a phrase occurs, given for each of its positions where its terms stand in a document,
// less the position's offset: an exact occurrence is one number found in every list.
//
// With slop, an occurrence is one entry of each list; its width is the greatest less the least, and
// it counts 1 / (1 + width) if the width is at most the slop. As in Lucene, the list with the least
// entry moves on as long as it stays the least, and the narrowest of these is the occurrence. One
// token cannot stand for two positions of the phrase.

/** Ascending, with repeats; may be below 0. */
export interface ShiftedPositions {
  readonly offset: number
  values: Int32Array
  length: number
  /** How far a comparison has come. */
  at: number
}

export function exactFrequency(lists: readonly ShiftedPositions[]): number {
  const [first] = lists
  if (first === undefined) return 0
  for (const list of lists) list.at = 0
  let frequency = 0
  for (let i = 0; i < first.length; i += 1) {
    const value = first.values[i] ?? 0
    if (i > 0 && value === first.values[i - 1]) continue
    let agreed = 1
    while (agreed < lists.length && reaches(lists[agreed] ?? first, value)) agreed += 1
    if (agreed === lists.length) frequency += 1
  }
  return frequency
}

/** Goes to the first entry at or above `value`, and says whether it is the value. */
function reaches(list: ShiftedPositions, value: number): boolean {
  const { values, length } = list
  let { at } = list
  while (at < length && (values[at] ?? 0) < value) at += 1
  list.at = at
  return at < length && values[at] === value
}

export function sloppyFrequency(lists: readonly ShiftedPositions[], slop: number): number {
  const places = lists.map(() => 0)
  const valueOf = (l: number): number => lists[l]?.values[places[l] ?? 0] ?? 0
  let greatest = Math.max(...lists.map((_, l) => valueOf(l)))
  let frequency = 0
  for (;;) {
    const least = leastList(lists.length, valueOf)
    const next = secondLeast(lists.length, least, valueOf)
    let width = Infinity
    let isOver = false
    while (valueOf(least) <= next) {
      if (!sharesToken(lists, valueOf)) width = Math.min(width, greatest - valueOf(least))
      places[least] = (places[least] ?? 0) + 1
      isOver = (places[least] ?? 0) >= (lists[least]?.length ?? 0)
      if (isOver) break
    }
    if (width <= slop) frequency += 1 / (1 + width)
    if (isOver) return frequency
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
