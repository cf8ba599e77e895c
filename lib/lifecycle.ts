/** Closes in reverse order of opening what was handed to it; keeps closing after a failure. */
export class Lifecycle implements AsyncDisposable {
  readonly #closers: (() => Promise<void> | void)[] = []

  /** What `build` makes. If it fails, what it had opened is closed, and its own failure is told. */
  static async build<Built>(build: (life: Lifecycle) => Promise<Built>): Promise<Built> {
    const life = new Lifecycle()
    try {
      return await build(life)
    } catch (error) {
      await life.close().catch(() => undefined) // why it failed is what can be acted on
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
