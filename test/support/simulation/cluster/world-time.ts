// Virtual time for code with promises: events happen one after the other, and between two moments
// everything that they caused comes to its end.

import { setImmediate as nextTurn } from 'node:timers/promises'
import type { VirtualTime } from '../virtual-time.ts'

/** Moments are this far apart; what is due between two of them happens at the later one. */
const GRID_MS = 0.5
/**
 * Chains of steps that wait for the event loop take a few turns. What takes more continues at the next
 * moment, always the same.
 */
const TURNS = 4

/** Lets virtual time pass up to `endMs`, or until the condition holds. Answers whether it does. */
export async function passUntil(
  time: VirtualTime,
  endMs: number,
  isEnough: () => boolean = () => false,
): Promise<boolean> {
  for (;;) {
    for (let turn = 0; turn < TURNS; turn++) await nextTurn()
    if (isEnough()) return true
    const { nextMs = Infinity } = time
    if (nextMs > endMs) break
    time.runUntil(Math.max(time.nowMs, Math.ceil(nextMs / GRID_MS) * GRID_MS))
  }
  time.runUntil(endMs)
  return isEnough()
}
