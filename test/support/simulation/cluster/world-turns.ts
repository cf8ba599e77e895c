// The turns of the event loop in virtual time: what production code leaves to a later turn waits here, so
// that a moment is over when nothing waits any more, and no turn of the real loop is spent in vain.

import { syncBuiltinESMExports } from 'node:module'
import timers from 'node:timers'
import timersPromises from 'node:timers/promises'

const realTurn = timers.setImmediate
/** Real turns that are asked for at once, since most of them cost the loop's own work. */
const BATCH = 32

type Work = () => void

export class WorldTurns {
  #waiting: Work[] = []

  /** Whether something waits for a turn. */
  get isBusy(): boolean {
    return this.#waiting.length > 0
  }

  /** From now on `setImmediate` waits here. Answers how to end that. */
  take(): () => void {
    const real = [
      globalThis.setImmediate,
      timers.setImmediate,
      timersPromises.setImmediate,
    ] as const
    const later = (run: (...given: unknown[]) => void, ...given: unknown[]): Work => {
      const work = (): void => run(...given)
      this.#waiting.push(work)
      return work
    }
    const laterPromise = <T>(value?: T): Promise<T | undefined> =>
      new Promise((resolve) => this.#waiting.push(() => resolve(value)))
    replaceImmediate(later, later, laterPromise)
    return () => replaceImmediate(...real)
  }

  /** Does what waits now. What it leaves to later turns comes in the next call. */
  run(): void {
    for (const work of this.#waiting.splice(0)) work()
  }
}

function replaceImmediate(global: unknown, callback: unknown, promise: unknown): void {
  Object.assign(globalThis, { setImmediate: global })
  Object.assign(timers, { setImmediate: callback })
  Object.assign(timersPromises, { setImmediate: promise })
  syncBuiltinESMExports()
}

/**
 * Calls `step` again and again, each time when all promises of the call before have had their reactions, until
 * it answers something.
 */
export function inTurns<Answer>(step: () => Answer | undefined): Promise<Answer> {
  return new Promise((resolve, reject) => {
    let isOver = false
    const once = (): void => {
      if (isOver) return
      try {
        const answer = step()
        if (answer === undefined) return
        isOver = true
        resolve(answer)
      } catch (error) {
        isOver = true
        reject(error)
      }
    }
    const batch = (): void => {
      for (let i = 0; i < BATCH; i++) realTurn(once)
      realTurn(() => void (isOver || batch()))
    }
    batch()
  })
}
