// The order of a growing list of texts: the terms and keys of a memory segment.
//
// A text's first characters and its number make one whole number below 2^53, and numbers are sorted
// many times faster than texts are compared. Texts with the same first characters are then compared
// whole. How many characters fit depends on how many different ones the texts begin with, not on which:
// the texts of every script are sorted alike.
//
// Invariants:
//   TO1  A text whose number is less is less by `compareTexts`. Equal numbers say nothing.

import { compareTexts, isOrderedByUnits, rankOfUnit } from '../encoding/compare-texts.ts'

const RUN_BITS = 14
const RUN_LENGTH = 2 ** RUN_BITS
/** With the number of a text in its run, 53 bits. */
const PREFIX_BITS = 39
/** The first six characters are looked at. Twenty-six letters and ten digits need six bits each. */
const PREFIX_LENGTH_MAX = 6
const UNITS = 0x1_0000
/** To make a table of all units takes longer than to compare fewer texts. */
const COMPARED_MAX = 128
const RUN_CHARACTERS_MAX = 2 ** 19
const COPIES_PER_SLICE = 32_768
const EMPTY = new Uint32Array(0)

/**
 * Texts that only become more. As long as the order of their code units is that of `compareTexts`, they
 * are compared by it, which takes half as long.
 */
class GrowingTexts {
  readonly list: readonly string[]
  #areByUnits = true
  #looked = 0

  constructor(list: readonly string[]) {
    this.list = list
  }

  /** Has to be called before texts below `end` are compared. */
  look(end: number): void {
    for (; this.#looked < end && this.#areByUnits; this.#looked += 1) {
      this.#areByUnits = isOrderedByUnits(this.at(this.#looked))
    }
  }

  at(number: number | undefined): string {
    return this.list[number ?? 0] ?? ''
  }

  /** Whether the text with the number is the same as another one, or comes before it. */
  isAtMost(number: number | undefined, other: number | undefined): boolean {
    const [text, than] = [this.at(number), this.at(other)]
    return this.#areByUnits ? text <= than : compareTexts(text, than) <= 0
  }

  /** Sorts in place. Equal texts are in the order of their numbers. */
  putInOrder(numbers: Uint32Array): void {
    numbers.sort((a, b) => compareTexts(this.at(a), this.at(b)) || a - b)
  }
}

/** The order of the texts at one moment. Later texts do not change it. */
export class TextRanks {
  /** The numbers of the texts in ascending order of `compareTexts`; equal texts in order of numbers. */
  readonly sorted: Uint32Array
  readonly #texts: readonly string[]
  #ranks: Uint32Array | undefined

  /** The caller only appends to `texts`, and does not change `sorted`. */
  constructor(texts: readonly string[], sorted: Uint32Array) {
    this.#texts = texts
    this.sorted = sorted
  }

  get count(): number {
    return this.sorted.length
  }

  at(rank: number): string {
    return this.#texts[this.sorted[rank] ?? 0] ?? ''
  }

  /** The place in the order of the text with this number. */
  rankOf(number: number): number {
    this.#ranks ??= inverted(this.sorted)
    return this.#ranks[number] ?? 0
  }

  /** The place in the order of the first text at or above `text`. */
  lowerBound(text: string): number {
    return lowerBound(this.#texts, this.sorted, text)
  }
}

function inverted(sorted: Uint32Array): Uint32Array {
  const ranks = new Uint32Array(sorted.length)
  for (let rank = 0; rank < sorted.length; rank += 1) ranks[sorted[rank] ?? 0] = rank
  return ranks
}

/** Orders the numbers of texts, and inserts new texts. */
export class TextOrder {
  readonly #texts: GrowingTexts
  #ranks: TextRanks

  /** The caller appends to `texts`. */
  constructor(texts: readonly string[]) {
    this.#texts = new GrowingTexts(texts)
    this.#ranks = new TextRanks(texts, EMPTY)
  }

  get isCurrent(): boolean {
    return this.#ranks.count === this.#texts.list.length
  }

  /** The ranks of all present texts. */
  ranks(): TextRanks {
    if (!this.isCurrent) for (const _ of this.update());
    return this.#ranks
  }

  /** The work of `ranks` in slices of about a millisecond. Texts may be added meanwhile. */
  *update(): Generator<undefined, void> {
    const end = this.#texts.list.length
    const known = this.#ranks.sorted
    if (known.length >= end) return
    let runs: Uint32Array[] = []
    for (let from = known.length; from < end;) {
      const to = endOfRun(this.#texts.list, from, end)
      this.#texts.look(to)
      runs.push(sortedRun(this.#texts, from, to))
      from = to
      yield
    }
    while (runs.length > 1) {
      const merged: Uint32Array[] = []
      for (let i = 0; i < runs.length; i += 2) {
        merged.push(yield* this.#merge(runs[i] ?? EMPTY, runs[i + 1] ?? EMPTY))
      }
      runs = merged
    }
    const sorted = yield* this.#merge(known, runs[0] ?? EMPTY)
    // Another update may have ended meanwhile, and know more.
    if (sorted.length > this.#ranks.count) this.#ranks = new TextRanks(this.#texts.list, sorted)
  }

  /** `b` is usually much shorter, so the texts of `a` between two of `b` are copied at once. */
  *#merge(a: Uint32Array, b: Uint32Array): Generator<undefined, Uint32Array> {
    if (a.length === 0) return b
    if (b.length === 0) return a
    const texts = this.#texts
    const out = new Uint32Array(a.length + b.length)
    let from = 0
    let budget = COPIES_PER_SLICE
    for (let i = 0; i < b.length; i += 1) {
      const id = b[i] ?? 0
      let to = from
      // Equal texts of `a` come first: they have the lower numbers.
      if (from < a.length && texts.isAtMost(a[from], id)) to = upperBoundFrom(texts, a, id, from)
      out.set(a.subarray(from, to), from + i)
      budget -= to - from + 8 + (texts.at(id).length >>> 4)
      from = to
      out[from + i] = id
      if (budget > 0) continue
      budget = COPIES_PER_SLICE
      yield
    }
    out.set(a.subarray(from), from + b.length)
    return out
  }
}

/** Long texts with a common prefix are compared whole many times, so a run has fewer of them. */
function endOfRun(texts: readonly string[], from: number, end: number): number {
  let characters = 0
  let to = from
  for (; to < end && to < from + RUN_LENGTH && characters < RUN_CHARACTERS_MAX; to += 1) {
    characters += texts[to]?.length ?? 0
  }
  return to
}

/** The first place in `a` behind `from` with a text above this one: by doubling steps, then halving. */
function upperBoundFrom(texts: GrowingTexts, a: Uint32Array, id: number, from: number): number {
  let low = from
  let step = 1
  while (low + step < a.length && texts.isAtMost(a[low + step], id)) {
    low += step
    step *= 2
  }
  let high = Math.min(low + step, a.length)
  low += 1
  while (low < high) {
    const middle = (low + high) >>> 1
    if (texts.isAtMost(a[middle], id)) low = middle + 1
    else high = middle
  }
  return low
}

function lowerBound(texts: readonly string[], sorted: Uint32Array, text: string): number {
  let low = 0
  let high = sorted.length
  while (low < high) {
    const middle = (low + high) >>> 1
    if (compareTexts(texts[sorted[middle] ?? 0] ?? '', text) < 0) low = middle + 1
    else high = middle
  }
  return low
}

/** The numbers from `from` to `to` (not included) in the order of their texts. */
function sortedRun(texts: GrowingTexts, from: number, to: number): Uint32Array {
  const run = new Uint32Array(to - from)
  for (let i = 0; i < run.length; i += 1) run[i] = from + i
  if (isAscending(texts, from, to)) return run
  if (run.length <= COMPARED_MAX) {
    texts.putInOrder(run)
    return run
  }
  const prefix = prefixOf(texts.list, from, to)
  const keys = new Float64Array(run.length)
  for (let i = 0; i < run.length; i += 1) {
    keys[i] = prefix.numberOf(texts.at(from + i)) * RUN_LENGTH + i
  }
  keys.sort()
  for (let i = 0; i < run.length; i += 1) run[i] = from + ((keys[i] ?? 0) % RUN_LENGTH)
  sortWithinPrefixes(texts, run, keys)
  return run
}

/** `keys` are in order; those with the same prefix say nothing about their texts. */
function sortWithinPrefixes(texts: GrowingTexts, run: Uint32Array, keys: Float64Array): void {
  const prefixAt = (i: number): number => Math.floor((keys[i] ?? 0) / RUN_LENGTH)
  for (let start = 0; start < run.length;) {
    const prefix = prefixAt(start)
    let end = start + 1
    while (end < run.length && prefixAt(end) === prefix) end += 1
    if (end > start + 1) texts.putInOrder(run.subarray(start, end))
    start = end
  }
}

function isAscending(texts: GrowingTexts, from: number, to: number): boolean {
  for (let n = from + 1; n < to; n += 1) if (!texts.isAtMost(n - 1, n)) return false
  return true
}

/** The prefixes of the texts of one run. */
class RunPrefix {
  /** By unit, its place among those that occur, from 1: no unit comes before all of them. */
  readonly #places: Uint32Array
  readonly #base: number
  readonly #length: number

  constructor(places: Uint32Array, placeCount: number) {
    const bits = Math.max(1, Math.ceil(Math.log2(placeCount + 1)))
    this.#places = places
    this.#base = 2 ** bits
    this.#length = Math.min(PREFIX_LENGTH_MAX, Math.floor(PREFIX_BITS / bits))
  }

  /** A number that orders like the texts of the run, or is equal. */
  numberOf(text: string): number {
    let number = 0
    for (let i = 0; i < this.#length; i += 1) {
      const place = i < text.length ? (this.#places[text.charCodeAt(i)] ?? 0) : 0
      number = number * this.#base + place
    }
    return number
  }
}

/** All units within the first PREFIX_LENGTH_MAX of each text have a place, in the order of texts. */
function prefixOf(texts: readonly string[], from: number, to: number): RunPrefix {
  const places = new Uint32Array(UNITS)
  const units: number[] = []
  for (let n = from; n < to; n += 1) {
    const text = texts[n] ?? ''
    const length = Math.min(text.length, PREFIX_LENGTH_MAX)
    for (let i = 0; i < length; i += 1) {
      const unit = text.charCodeAt(i)
      if (places[unit] !== 0) continue
      places[unit] = 1
      units.push(unit)
    }
  }
  units.sort((a, b) => rankOfUnit(a) - rankOfUnit(b))
  for (const [i, unit] of units.entries()) places[unit] = i + 1
  return new RunPrefix(places, units.length)
}
