// How many changes the newest log entries of a shard have, so that a consumer that has read up to some entry knows
// without reading how many it lacks.
//
// Invariants:
//   LT1  A count is never too low: marks that are dropped add their entries to the mark behind them.
//   LT2  A span without changes counts 0, as long as the mark before it was not dropped.

import { must } from '../../../lib/assert.ts'
import type { Effect } from '../format/effect.ts'
import { isDeleted } from '../format/document-record.ts'
import { KEYSPACES } from '../format/keyspace.ts'
import type { Touch } from '../format/log-entry.ts'

/** Beyond it every other one of the older half is dropped. A mark has about a hundred bytes, and each shard has them. */
const MARKS_MAX = 512

/**
 * What different consumers count:
 * - `documents`: documents that were written or deleted.
 * - `written`: those of them that are there, of which somebody may have to make artifacts.
 * - `artifacts`: artifacts that came or went, and documents that were deleted.
 * - `touched`: documents, and artifacts that came alone.
 */
export type TallyKind = keyof TallyCounts

/** See `TallyKind`. */
export interface TallyCounts {
  readonly documents: number
  readonly written: number
  readonly artifacts: number
  readonly touched: number
}

type Counting = { -readonly [Kind in TallyKind]: number }

/** The counts of all entries up to and including this one, since the tally began. */
interface Mark extends TallyCounts {
  readonly sequence: number
}

const NOTHING: TallyCounts = { documents: 0, written: 0, artifacts: 0, touched: 0 }

/** Counts the changes of committed entries, in their order (LT1, LT2). */
export class LogTally {
  /** Never empty, ascending. Those before the tally began have counts below 0. */
  #marks: Mark[]

  /** `begin`: the last entry that is not counted. */
  constructor(begin: number) {
    this.#marks = [{ sequence: begin, ...NOTHING }]
  }

  /** The last entry that is not counted. */
  get begin(): number {
    return this.#marks[0]?.sequence ?? 0
  }

  /** Entries come in order; one that was counted before is passed over. */
  note(sequence: number, counts: TallyCounts): void {
    const last = this.#last
    if (sequence <= last.sequence || counts.artifacts + counts.touched === 0) return
    this.#marks.push({ sequence, ...sumOf(last, counts) })
    if (this.#marks.length > MARKS_MAX) this.#thin()
  }

  /** Puts an earlier part of the log before this one: its last entry is the one where this tally begins. */
  extend(earlier: LogTally): void {
    if (earlier.begin >= this.begin) return
    const end = earlier.#last
    const shifted = earlier.#marks.map(({ sequence, ...counts }) => ({
      sequence,
      ...sumOf(counts, negative(end)),
    }))
    this.#marks = [...shifted.filter(({ sequence }) => sequence < this.begin), ...this.#marks]
    while (this.#marks.length > MARKS_MAX) this.#thin()
  }

  /** How many changes the entries behind `from` have; undefined if the tally does not reach back so far. */
  behind(from: number, kind: TallyKind): number | undefined {
    const last = this.#last
    if (from >= last.sequence) return 0
    return from < this.begin ? undefined : last[kind] - this.#markAt(from)[kind]
  }

  get #last(): Mark {
    return must(this.#marks.at(-1), 'the marks are never empty')
  }

  /** The newest mark that is not behind `sequence`. */
  #markAt(sequence: number): TallyCounts {
    let low = 0
    let high = this.#marks.length
    while (low < high) {
      const middle = (low + high) >>> 1
      if ((this.#marks[middle]?.sequence ?? Infinity) <= sequence) low = middle + 1
      else high = middle
    }
    return this.#marks[low - 1] ?? NOTHING
  }

  #thin(): void {
    const half = this.#marks.length >>> 1
    this.#marks = this.#marks.filter((_, i) => i === 0 || i >= half || i % 2 === 0)
  }
}

/** What an entry's effects change. Artifacts that come with their document are counted as both. */
export function tallyOfEffects(effects: Iterable<Effect>): TallyCounts {
  const counts: Counting = { ...NOTHING }
  for (const effect of effects) {
    if (effect.kind === 'document') countDocument(counts, isDeleted(effect.record))
    else if (effect.kind === 'retime') countDocument(counts, false)
    else if (effect.key[0] === KEYSPACES.artifacts) countArtifact(counts)
  }
  return counts
}

/** What the touches of a stored entry change. */
export function tallyOfTouches(touches: Iterable<Touch>): TallyCounts {
  const counts: Counting = { ...NOTHING }
  for (const { changed, deleted } of touches) {
    if (changed !== 'artifacts') countDocument(counts, deleted)
    if (changed !== 'document') countArtifact(counts)
  }
  return counts
}

function countDocument(counts: Counting, isGone: boolean): void {
  counts.documents += 1
  counts.touched += 1
  if (isGone) counts.artifacts += 1
  else counts.written += 1
}

function countArtifact(counts: Counting): void {
  counts.artifacts += 1
  counts.touched += 1
}

function sumOf(one: TallyCounts, other: TallyCounts): TallyCounts {
  return {
    documents: one.documents + other.documents,
    written: one.written + other.written,
    artifacts: one.artifacts + other.artifacts,
    touched: one.touched + other.touched,
  }
}

function negative({ documents, written, artifacts, touched }: TallyCounts): TallyCounts {
  return { documents: -documents, written: -written, artifacts: -artifacts, touched: -touched }
}
