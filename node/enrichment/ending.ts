/**
 * The end of some work, for very many who wait. An AbortSignal looks through all of its listeners for each new one; here
 * adding and removing one costs the same however many there are.
 */
export class Ending {
  readonly #controller = new AbortController()
  readonly #listeners = new Set<() => void>()

  /** For functions that take an AbortSignal. */
  get signal(): AbortSignal {
    return this.#controller.signal
  }

  get isOver(): boolean {
    return this.signal.aborted
  }

  get reason(): unknown {
    return this.signal.reason
  }

  /** Calls the listener at the end, unless it is removed before. Called before the end alone. */
  add(listener: () => void): void {
    this.#listeners.add(listener)
  }

  remove(listener: () => void): void {
    this.#listeners.delete(listener)
  }

  /** Resolves when `wait` calls what it is given; rejects at the end. */
  async unlessOver(wait: (resolve: () => void) => void): Promise<void> {
    if (this.isOver) throw this.reason
    const { promise, resolve } = Promise.withResolvers<void>()
    this.add(resolve)
    wait(resolve)
    await promise
    this.remove(resolve)
    if (this.isOver) throw this.reason
  }

  /** Once; later calls do nothing. */
  end(reason: Error): void {
    if (this.isOver) return
    this.#controller.abort(reason)
    for (const listener of this.#listeners) listener()
    this.#listeners.clear()
  }
}
