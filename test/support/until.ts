import { setTimeout as sleep } from 'node:timers/promises'
import { expect } from 'chai'

const POLL_MS = 10
const POLLS_MAX = 6000

/** Waits for what another process or thread brings about. */
export async function until(condition: () => Promise<boolean>): Promise<void> {
  for (let polls = 0; polls < POLLS_MAX; polls++) {
    if (await condition()) return
    await sleep(POLL_MS)
  }
  expect.fail('the condition never held')
}
