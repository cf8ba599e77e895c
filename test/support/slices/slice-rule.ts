// The rule of slices as numbers, and how a test holds a machine to it that others use too.

import { expect } from 'chai'
import { slowdown } from './yardstick.ts'

/** Work without collections of garbage, in a turn of an event loop and in a slice of a worker. */
const RULE_MS = { loop: 20, worker: 50 } as const

/**
 * The rule is for a machine that has a core for the thread. On a busy one two threads share a core and its
 * caches, and the same work takes twice the CPU time and sometimes more. What the rule is there to find, a
 * loop over a body that takes no pauses, takes hundreds of milliseconds.
 */
const BUSY_FACTOR = 3

export const WORK_MS_MAX = {
  loop: RULE_MS.loop * BUSY_FACTOR,
  worker: RULE_MS.worker * BUSY_FACTOR,
} as const

/**
 * Collecting garbage stops a thread wherever it is, and takes as long as there is living memory to trace:
 * no slicing makes it shorter. With it, a turn or a slice has a bound that only an accident reaches.
 */
export const WITH_COLLECTIONS_MS_MAX = 1000

/** A slice that is too long by its own work is so each time; what the machine does to it, is not. */
const ATTEMPTS = 4

/** A sample takes about a tenth of it. */
const SAMPLE_PERIOD_MS = 600

/** What one attempt may take, in milliseconds on this machine as it is now. */
export interface SliceBounds {
  readonly slowdown: number
  readonly loop: number
  readonly worker: number
  readonly withCollections: number
}

/** A turn or slice that was too long, in words. */
export type Overrun = string

/**
 * Holds when one of a few attempts has no overrun. `attempt` gets its number, from 1 on, and answers the overruns of
 * what it drove; whatever else it finds wrong it throws.
 */
export async function expectShortSlices(
  attempt: (number: number, boundsNow: () => SliceBounds) => Promise<readonly Overrun[]>,
): Promise<void> {
  const overruns: string[] = []
  for (let number = 1; number <= ATTEMPTS; number += 1) {
    let slowest = slowdown()
    const sample = () => (slowest = Math.max(slowest, slowdown()))
    // A burst of other work in the middle shows neither before nor afterwards.
    const sampling = setInterval(sample, SAMPLE_PERIOD_MS)
    let bounds: SliceBounds | undefined
    const found = await attempt(number, () => (bounds ??= boundsAt(sample()))).finally(() => {
      clearInterval(sampling)
    })
    if (found.length === 0) return
    const times = bounds?.slowdown.toFixed(1)
    overruns.push(`attempt ${number}, machine ${times} times slower: ${found.join('; ')}`)
  }
  expect.fail(overruns.join('\n'))
}

function boundsAt(times: number): SliceBounds {
  return {
    slowdown: times,
    loop: WORK_MS_MAX.loop * times,
    worker: WORK_MS_MAX.worker * times,
    withCollections: WITH_COLLECTIONS_MS_MAX * times,
  }
}
