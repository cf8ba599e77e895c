import type { Sliced } from '../../../lib/sliced.ts'

/**
 * The longest step of a computation, in time of the processor that its thread took: other programs
 * take no part in it. What it throws ends it.
 */
export function longestStepMs(work: Sliced<unknown>): number {
  for (let longest = 0; ;) {
    const before = process.threadCpuUsage()
    const isOver = isOverAfterStep(work)
    const { user, system } = process.threadCpuUsage(before)
    longest = Math.max(longest, (user + system) / 1000)
    if (isOver) return longest
  }
}

function isOverAfterStep(work: Sliced<unknown>): boolean {
  try {
    return work.next().done === true
  } catch {
    return true
  }
}
