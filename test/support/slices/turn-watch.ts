// How long the turns of this thread's event loop hold it, in time of the processor, of which a busy machine takes
// nothing: all of it, and what was left of it for work beside collections of garbage.

import { setImmediate as nextTurn } from 'node:timers/promises'
import { CollectionWatch } from '../../../lib/collection-watch.ts'
import { slowdown } from './yardstick.ts'

const PERIOD_MS = 1
/** Each attempt is a chance that nothing disturbs the turns; a turn that is too long by its work is so in each. */
const ATTEMPTS = 6
const NOTED_MS = 8

/** One turn. */
export interface Turn {
  readonly cpuMs: number
  readonly workMs: number
}

/** Tells of each turn that took `notedMs` or more, a turn later. The returned function ends it. */
export function watchTurns(notedMs: number, note: (turn: Turn) => void): () => void {
  const collections = CollectionWatch.start()
  let beforeMs = performance.now()
  let before = process.threadCpuUsage()
  const timer = setInterval(() => {
    const beganMs = beforeMs
    const endedMs = performance.now()
    const { user, system } = process.threadCpuUsage(before)
    const cpuMs = (user + system) / 1000
    if (cpuMs >= notedMs) {
      collections.whenKnown(() => {
        note({ cpuMs, workMs: Math.max(0, cpuMs - collections.msWithin(beganMs, endedMs)) })
      })
    }
    beforeMs = performance.now()
    before = process.threadCpuUsage()
  }, PERIOD_MS).unref()
  return () => {
    clearInterval(timer)
    collections.stop()
  }
}

/**
 * The work of the longest turn of a drive, in milliseconds on the machine of the yardstick: of that attempt in which it
 * was shortest. Drives again while it is `boundMs` or longer, six times at most.
 */
export async function longestTurnAtBestMs(
  drive: () => Promise<void>,
  boundMs: number,
): Promise<number> {
  let best = Infinity
  for (let attempt = 0; attempt < ATTEMPTS && best >= boundMs; attempt += 1) {
    const before = slowdown()
    let longestMs = 0
    await nextTurn() // the yardstick's turn is over
    const end = watchTurns(NOTED_MS, ({ workMs }) => (longestMs = Math.max(longestMs, workMs)))
    await drive()
    await nextTurn()
    await nextTurn()
    end()
    best = Math.min(best, longestMs / Math.max(before, slowdown()))
  }
  return best
}
