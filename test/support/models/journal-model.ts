import { must } from '../../../lib/assert.ts'
import type { LogState } from '../../../node/journal/log-marks.ts'
import type { LogPosition } from '../../../node/journal/log-position.ts'
import { LOG_BEGIN } from '../worlds/replica-source.ts'

/** An entry of a model's log. */
export interface ModelEntry extends LogPosition {
  readonly text: string
}

/** A log after some of its rows: what a replica has of it if exactly those are durable. */
export interface ModelState {
  /** The entry before the first one: the beginning, or a snapshot. */
  readonly base: LogPosition
  readonly entries: readonly ModelEntry[]
  readonly promised: number
}

/** What a start found of a log. */
export interface FoundLog {
  readonly state: LogState
  /** The texts of the kept entries, from some entry on. */
  readonly texts: readonly string[]
  /** Their positions. */
  readonly positions: readonly LogPosition[]
}

/** What was known of a log when power failed. */
export interface ModelSnapshot {
  /** The states that the disk may have: as of the last acknowledged row, and after each later row. */
  readonly states: readonly ModelState[]
  readonly applied: LogPosition
  /** The committed sequence on disk is one of these. */
  readonly committed: ReadonlySet<number>
}

const START: ModelState = { base: LOG_BEGIN, entries: [], promised: 0 }

/** One log as a list of states, one for each row that was given to the journal. */
export class LogModel {
  #states: ModelState[] = [START]
  /** All durable rows lead to this state at least. */
  #acknowledged = 0
  /** Every committed sequence that was noted since the one that is durable for sure. */
  #noted: number[] = [0]
  /** The last entry that the store has applied. It is durable there. */
  applied: LogPosition = LOG_BEGIN

  get last(): ModelState {
    return must(this.#states.at(-1), 'the newest state')
  }

  get acknowledged(): ModelState {
    return must(this.#states[this.#acknowledged], 'the acknowledged state')
  }

  get end(): LogPosition {
    return this.last.entries.at(-1) ?? this.last.base
  }

  /** The newest committed sequence, durable or not. */
  get committed(): number {
    return Math.max(must(this.#noted.at(-1), 'the noted sequence'), this.applied.sequence)
  }

  /** Answers what to call when the row is durable. */
  row(state: ModelState): () => void {
    this.#states.push(state)
    const index = this.#states.length - 1
    const noted = this.committed
    const states = this.#states
    return () => {
      if (states !== this.#states) return // answered before the last crash
      this.#acknowledged = Math.max(this.#acknowledged, index)
      const behind = this.#noted.findLastIndex((sequence) => sequence <= noted)
      this.#noted = this.#noted.slice(Math.max(behind, 0))
    }
  }

  note(sequence: number): void {
    this.#noted.push(sequence)
  }

  positionAt(sequence: number): LogPosition {
    const { base, entries } = this.last
    if (sequence === base.sequence) return base
    return must(entries[sequence - base.sequence - 1], 'an entry of the model')
  }

  snapshot(): ModelSnapshot {
    const states = this.#states.slice(this.#acknowledged)
    return { states, applied: this.applied, committed: new Set(this.#noted) }
  }

  /** Continues from what a start has found. */
  recover(state: ModelState, committed: number): void {
    this.#states = [state]
    this.#acknowledged = 0
    this.#noted = [committed]
  }
}

/** The state that the disk had; undefined if what was found is none of those that it may have. */
export function stateOfFound(snapshot: ModelSnapshot, found: FoundLog): ModelState | undefined {
  const { states, applied, committed } = snapshot
  if (!committed.has(found.state.committed)) return undefined
  return states.find(
    (state) => state.promised === found.state.promised && isLogOf(state, applied, found),
  )
}

/** Everything above what the store has applied is there, and before that perhaps more. */
function isLogOf({ entries }: ModelState, applied: LogPosition, found: FoundLog): boolean {
  const { positions, texts } = found
  const needed = entries.filter(({ sequence }) => sequence > applied.sequence)
  const kept = entries.slice(entries.length - positions.length)
  return (
    positions.length >= needed.length &&
    kept.length === positions.length &&
    kept.length === texts.length &&
    kept.every((entry, at) => isSame(entry, positions[at]) && entry.text === texts[at])
  )
}

function isSame(a: LogPosition, b: LogPosition | undefined): boolean {
  return a.sequence === b?.sequence && a.epoch === b.epoch && a.crc === b.crc
}
