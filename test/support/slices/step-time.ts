import type { Paced } from '../../../lib/sliced.ts'

/** What the work takes of the processor in this thread, in milliseconds. Other programs take no part in it. */
export function cpuMsOf(work: () => unknown): number {
  const before = process.threadCpuUsage()
  work()
  const { user, system } = process.threadCpuUsage(before)
  return (user + system) / 1000
}

/**
 * The longest step of a computation, in time of the processor that its thread took: other programs
 * take no part in it. What it throws ends it.
 */
function longestStepMs(work: Paced<unknown>): number {
  for (let longest = 0; ;) {
    const before = process.threadCpuUsage()
    const isOver = isOverAfterStep(work)
    const { user, system } = process.threadCpuUsage(before)
    longest = Math.max(longest, (user + system) / 1000)
    if (isOver) return longest
  }
}

/**
 * The longest step in the best of a few runs of the same computation. A step that is too long by its
 * work is so in each run; a collection of garbage or a slow moment of the machine is not.
 */
export function longestStepAtBestMs(newWork: () => Paced<unknown>, boundMs: number): number {
  let best = Infinity
  for (let attempts = 4; attempts > 0 && best >= boundMs; attempts--) {
    best = Math.min(best, longestStepMs(newWork()))
  }
  return best
}

function isOverAfterStep(work: Paced<unknown>): boolean {
  try {
    return work.next().done === true
  } catch {
    return true
  }
}
