import { expect } from 'chai'
import type { ManualClock } from '../../lib/clock.ts'
import { settle } from './servers/swarm-harness.ts'

/** The work ends when so many milliseconds have passed, and not before. */
export async function expectEndAfter(
  clock: ManualClock,
  ms: number,
  work: Promise<void>,
): Promise<void> {
  let hasEnded = false
  const ending = work.then(() => {
    hasEnded = true
  })
  await settle()
  clock.advance(ms - 1)
  await settle()
  const hasEndedEarly = hasEnded
  clock.advance(1)
  await ending
  expect(hasEndedEarly).to.equal(false)
}
