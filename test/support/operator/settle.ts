import { setImmediate as nextTurn } from 'node:timers/promises'
import type { ManualClock } from '../../../lib/clock.ts'

/** What one event causes at once in a fake API server and its clients takes fewer turns. */
const TURNS = 6

/** Lets everything happen that needs no time. */
export async function settle(): Promise<void> {
  for (let turn = 0; turn < TURNS; turn++) await nextTurn()
}

/** Lets time pass in steps, and after each of them everything that needs no time. */
export async function pass(clock: ManualClock, ms: number, stepMs = 1000): Promise<void> {
  await settle()
  for (let leftMs = ms; leftMs > 0; leftMs -= stepMs) {
    clock.advance(Math.min(stepMs, leftMs))
    await settle()
  }
}
