import { setImmediate as nextTurn } from 'node:timers/promises'

/**
 * Spreads work that arrives in bursts, as the answers of an index worker do, over turns of the event
 * loop: one share in each turn, so that what arrives meanwhile need not wait for all of them.
 */
export class EventLoopTurns {
  /** At most one entry for each query under way. */
  readonly #waiting: (() => void)[] = []
  #isTaken = false

  /** Resolves when the caller may do its share: at once if it is the first of this turn. */
  take(): Promise<void> {
    if (this.#isTaken) return new Promise((resolve) => this.#waiting.push(resolve))
    this.#isTaken = true
    void this.#runTurns()
    return Promise.resolve()
  }

  async #runTurns(): Promise<void> {
    await nextTurn()
    for (let next = this.#waiting.shift(); next !== undefined; next = this.#waiting.shift()) {
      next()
      await nextTurn()
    }
    this.#isTaken = false
  }
}
