import type { Paced } from '../../../lib/sliced.ts'

export interface Walked<Result> {
  readonly result: Result
  /** How often the computation offered to pause. */
  readonly pauses: number
}

/** Runs a computation to its end and counts its pauses: its work, in steps of about a millisecond. */
export function walk<Result>(work: Paced<Result>): Walked<Result> {
  for (let pauses = 0; ; pauses++) {
    const step = work.next()
    if (step.done === true) return { result: step.value, pauses }
  }
}
