const CLOSER_SHOWN_MAX = 120

/** Closes registered resources in reverse order. Continues closing after a failure. */
export class Lifecycle implements AsyncDisposable {
  readonly #closers: (() => Promise<void> | void)[] = []
  #step = 0
  #waitsFor = ''

  /**
   * Runs `build` and answers its result. If it fails, closes the resources that it opened and
   * throws its error.
   */
  static async build<Built>(build: (life: Lifecycle) => Promise<Built>): Promise<Built> {
    const life = new Lifecycle()
    try {
      return await build(life)
    } catch (error) {
      await life.close().catch(() => undefined) // the caller needs the error of `build`
      throw error
    }
  }

  onClose(close: () => Promise<void> | void): void {
    this.#closers.push(close)
  }

  /** The closer that runs, as it is written, and a number that changes with it. For people who ask what keeps an end. */
  get waitsFor(): { readonly step: number; readonly closer: string } {
    return { step: this.#step, closer: this.#waitsFor }
  }

  async close(): Promise<void> {
    const failures: unknown[] = []
    for (;;) {
      const close = this.#closers.pop()
      if (close === undefined) break
      this.#step += 1
      this.#waitsFor = String(close).replaceAll(/\s+/g, ' ').slice(0, CLOSER_SHOWN_MAX)
      try {
        await close()
      } catch (error) {
        failures.push(error)
      }
    }
    if (failures.length > 0) throw new AggregateError(failures, 'closing failed')
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close()
  }
}
