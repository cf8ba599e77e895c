import { setImmediate as nextTurn } from 'node:timers/promises'
import { expect } from 'chai'
import type { ManualClock } from '../../../lib/clock.ts'

const STEP_MS = 50
const STEPS_MAX = 40_000
/** What one event causes at once takes a few turns of the event loop. */
const TURNS = 4

/** Advances the clock in small steps until the condition holds. */
export async function passTimeUntil(clock: ManualClock, condition: () => boolean): Promise<void> {
  for (let steps = 0; steps < STEPS_MAX; steps++) {
    for (let turn = 0; turn < TURNS; turn++) {
      if (condition()) return
      await nextTurn()
    }
    clock.advance(STEP_MS)
  }
  expect.fail('the condition never held')
}

/** Lets so much time pass. */
export async function passTime(clock: ManualClock, ms: number): Promise<void> {
  const endMs = clock.monotonicMs() + ms
  await passTimeUntil(clock, () => clock.monotonicMs() >= endMs)
}
