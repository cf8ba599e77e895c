/** Lets a number of tasks in at a time; the others wait in the order they came. */
export class TurnQueue {
  #free: number
  readonly #waiting: (() => void)[] = []

  /** Who calls bounds how many wait: requests pass a queue with a maximum before. */
  constructor(parallelMax: number) {
    this.#free = parallelMax
  }

  /** Resolves once it is the caller's turn, which lasts until the answer is called. */
  async enter(signal: AbortSignal): Promise<() => void> {
    if (this.#free > 0) this.#free -= 1
    else await this.#wait(signal)
    return () => this.#leave()
  }

  #wait(signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      const giveUp = (): void => {
        this.#waiting.splice(this.#waiting.indexOf(enter), 1)
        reject(signal.reason instanceof Error ? signal.reason : new Error('aborted'))
      }
      const enter = (): void => {
        signal.removeEventListener('abort', giveUp)
        resolve()
      }
      signal.addEventListener('abort', giveUp, { once: true })
      this.#waiting.push(enter)
    })
  }

  #leave(): void {
    const next = this.#waiting.shift()
    if (next === undefined) this.#free += 1
    else next()
  }
}
