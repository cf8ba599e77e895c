/** Closes in reverse order of opening what was handed to it; keeps closing after a failure. */
export class Lifecycle implements AsyncDisposable {
  readonly #closers: (() => Promise<void> | void)[] = []

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
