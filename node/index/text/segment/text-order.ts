// The order of a growing list of texts: the terms and keys of a memory segment.
//
// A text's first characters and its number make one whole number below 2^53, and numbers are sorted
// many times faster than texts are compared. Texts with the same first characters are then compared
// whole.

import { compareTexts } from '../encoding/compare-texts.ts'

const RUN_BITS = 14
const RUN_LENGTH = 2 ** RUN_BITS
/** Five characters of seven bits each: with the number of a text in its run, 49 bits. */
const PREFIX_LENGTH = 5
const CHARACTER_MAX = 127
const RUN_CHARACTERS_MAX = 2 ** 19
const COPIES_PER_SLICE = 32_768
const EMPTY = new Uint32Array(0)

/** The order of the texts at one moment. Later texts do not change it. */
export class TextRanks {
  /** The numbers of the texts in ascending order of code units; equal texts in order of numbers. */
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
  readonly #texts: readonly string[]
  #ranks: TextRanks

  /** The caller appends to `texts`. */
  constructor(texts: readonly string[]) {
    this.#texts = texts
    this.#ranks = new TextRanks(texts, EMPTY)
  }

  get isCurrent(): boolean {
    return this.#ranks.count === this.#texts.length
  }

  /** The ranks of all present texts. */
  ranks(): TextRanks {
    if (!this.isCurrent) for (const _ of this.update());
    return this.#ranks
  }

  /** The work of `ranks` in slices of about a millisecond. Texts may be added meanwhile. */
  *update(): Generator<undefined, void> {
    const end = this.#texts.length
    const known = this.#ranks.sorted
    if (known.length >= end) return
    let runs: Uint32Array[] = []
    for (let from = known.length; from < end;) {
      const to = endOfRun(this.#texts, from, end)
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
    if (sorted.length > this.#ranks.count) this.#ranks = new TextRanks(this.#texts, sorted)
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
      const text = texts[id] ?? ''
      let to = from
      // Equal texts of `a` come first: they have the lower numbers.
      if (from < a.length && (texts[a[from] ?? 0] ?? '') <= text) {
        to = upperBoundFrom(texts, a, text, from)
      }
      out.set(a.subarray(from, to), from + i)
      budget -= to - from + 8 + (text.length >>> 4)
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

/** The first place in `a` behind `from` with a text above `text`: by doubling steps, then halving. */
function upperBoundFrom(
  texts: readonly string[],
  a: Uint32Array,
  text: string,
  from: number,
): number {
  let low = from
  let step = 1
  while (low + step < a.length && (texts[a[low + step] ?? 0] ?? '') <= text) {
    low += step
    step *= 2
  }
  let high = Math.min(low + step, a.length)
  low += 1
  while (low < high) {
    const middle = (low + high) >>> 1
    if ((texts[a[middle] ?? 0] ?? '') <= text) low = middle + 1
    else high = middle
  }
  return low
}

function lowerBound(texts: readonly string[], sorted: Uint32Array, text: string): number {
  let low = 0
  let high = sorted.length
  while (low < high) {
    const middle = (low + high) >>> 1
    if ((texts[sorted[middle] ?? 0] ?? '') < text) low = middle + 1
    else high = middle
  }
  return low
}

/** The numbers from `from` to `to` (not included) in the order of their texts. */
function sortedRun(texts: readonly string[], from: number, to: number): Uint32Array {
  const run = new Uint32Array(to - from)
  if (isAscending(texts, from, to)) {
    for (let i = 0; i < run.length; i += 1) run[i] = from + i
    return run
  }
  const keys = new Float64Array(run.length)
  for (let i = 0; i < run.length; i += 1) {
    keys[i] = prefixOf(texts[from + i] ?? '') * RUN_LENGTH + i
  }
  keys.sort()
  for (let i = 0; i < run.length; i += 1) run[i] = from + ((keys[i] ?? 0) % RUN_LENGTH)
  sortWithinPrefixes(texts, run, keys)
  return run
}

/** `keys` are in order; those with the same prefix say nothing about their texts. */
function sortWithinPrefixes(texts: readonly string[], run: Uint32Array, keys: Float64Array): void {
  const prefixAt = (i: number): number => Math.floor((keys[i] ?? 0) / RUN_LENGTH)
  for (let start = 0; start < run.length;) {
    const prefix = prefixAt(start)
    let end = start + 1
    while (end < run.length && prefixAt(end) === prefix) end += 1
    if (end > start + 1) {
      run.subarray(start, end).sort((a, b) => compareTexts(texts[a] ?? '', texts[b] ?? '') || a - b)
    }
    start = end
  }
}

function isAscending(texts: readonly string[], from: number, to: number): boolean {
  for (let i = from + 1; i < to; i += 1) if ((texts[i - 1] ?? '') > (texts[i] ?? '')) return false
  return true
}

/** A number that orders like the texts, or is equal. All characters beyond ASCII count alike. */
function prefixOf(text: string): number {
  let prefix = 0
  for (let i = 0; i < PREFIX_LENGTH; i += 1) {
    // One is added, so that a text comes before its continuation with U+0000.
    const code = i < text.length ? Math.min(text.charCodeAt(i) + 1, CHARACTER_MAX) : 0
    prefix = prefix * (CHARACTER_MAX + 1) + code
  }
  return prefix
}
