// Virtual time for code with promises: events happen one after the other, and between two moments
// everything that they caused comes to its end.

import { InvariantError } from '../../../../lib/assert.ts'
import type { VirtualTime } from '../virtual-time.ts'
import { inTurns, type WorldTurns } from './world-turns.ts'

/** Moments are this far apart; what is due between two of them happens at the later one. */
const GRID_MS = 0.5
/** What takes more turns than this at one moment never ends. */
const TURNS_MAX = 10_000

/** Lets virtual time pass up to `endMs`, or until the condition holds. Answers whether it does. */
export function passUntil(
  { time, turns }: { readonly time: VirtualTime; readonly turns: WorldTurns },
  endMs: number,
  isEnough: () => boolean = () => false,
): Promise<boolean> {
  let taken = 0
  return inTurns(() => {
    if (turns.isBusy) {
      if (++taken > TURNS_MAX) throw new InvariantError('a moment that does not end')
      turns.run()
      return undefined
    }
    taken = 0
    if (isEnough()) return true
    const { nextMs = Infinity } = time
    if (nextMs <= endMs) {
      time.runUntil(Math.max(time.nowMs, Math.ceil(nextMs / GRID_MS) * GRID_MS))
      return undefined
    }
    if (time.nowMs >= endMs) return false
    time.runUntil(endMs)
    return undefined
  })
}
