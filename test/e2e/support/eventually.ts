import { setTimeout as sleep } from 'node:timers/promises'

const POLL_MS = 200
const POLLS_MAX = 300

/** Asks until the answer is what is waited for; the last answer, or failure, is in the error that ends the wait. */
export async function eventually<Answer>(
  what: string,
  ask: () => Promise<Answer>,
  isIt: (answer: Answer) => boolean,
): Promise<Answer> {
  let last = ''
  for (let polls = 0; polls < POLLS_MAX; polls++) {
    try {
      const answer = await ask()
      if (isIt(answer)) return answer
      last = JSON.stringify(answer)
    } catch (error) {
      last = String(error)
    }
    await sleep(POLL_MS)
  }
  throw new Error(`${what}: asked ${POLLS_MAX} times; at last: ${last}`)
}
