// How long work takes, and the longest of its steps, in time of the processor on the machine of the yardstick. Other
// programs take no part in it: neither their time, nor what they do to the speed of this one.

import type { Paced } from '../../../lib/sliced.ts'
import { slowdown, timed } from './yardstick.ts'

/** Each attempt is a chance that nothing disturbs the step that was disturbed in all others. */
const ATTEMPTS = 8

/** What the work takes of the processor in this thread, in milliseconds on the machine of the yardstick. */
export function cpuMsOf(work: () => unknown): number {
  const before = slowdown()
  const { cpuMs } = timed(work)
  return cpuMs / Math.max(before, slowdown())
}

/**
 * The longest step of a computation, in milliseconds on the machine of the yardstick. What it throws ends it.
 *
 * The computation runs again while a step is `boundMs` or longer, eight times at most, and each step counts with the
 * shortest time that it took: a step that is too long by its work is so in each run; a collection of garbage or
 * what a neighbour does to the processor hits another step each time. A computation that takes another number of
 * steps the next time is compared by its longest one alone.
 */
export function longestStepAtBestMs(newWork: () => Paced<unknown>, boundMs: number): number {
  let best: readonly number[] | undefined
  for (let attempt = 0; attempt < ATTEMPTS; attempt += 1) {
    const times = stepTimesMs(newWork())
    best = best === undefined ? times : shorter(best, times)
    if (longest(best) < boundMs) break
  }
  return longest(best ?? [])
}

function stepTimesMs(work: Paced<unknown>): readonly number[] {
  const before = slowdown()
  const times: number[] = []
  for (;;) {
    const { result: isOver, cpuMs } = timed(() => isOverAfterStep(work))
    times.push(cpuMs)
    if (isOver) break
  }
  const slower = Math.max(before, slowdown())
  return times.map((ms) => ms / slower)
}

function shorter(one: readonly number[], other: readonly number[]): readonly number[] {
  if (one.length === other.length) return one.map((ms, at) => Math.min(ms, other[at] ?? ms))
  return longest(one) <= longest(other) ? one : other
}

function longest(times: readonly number[]): number {
  return times.reduce((most, ms) => Math.max(most, ms), 0)
}

function isOverAfterStep(work: Paced<unknown>): boolean {
  try {
    return work.next().done === true
  } catch {
    return true
  }
}
