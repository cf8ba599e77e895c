/** Closes registered resources in reverse order. Continues closing after a failure. */
export class Lifecycle implements AsyncDisposable {
  readonly #closers: (() => Promise<void> | void)[] = []

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

  async close(): Promise<void> {
    const failures: unknown[] = []
    for (;;) {
      const close = this.#closers.pop()
      if (close === undefined) break
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
