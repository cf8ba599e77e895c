/**
 * Questions about names, of which equal ones share an answer. An answer is never older than the question: who
 * asks while one is under way gets the next one, which begins after it.
 */
export class SharedAsks {
  readonly #ask: (name: string) => Promise<void>
  readonly #asked = new Map<string, { readonly running: Promise<void>; next?: Promise<void> }>()

  constructor(ask: (name: string) => Promise<void>) {
    this.#ask = ask
  }

  ask(name: string): Promise<void> {
    const asked = this.#asked.get(name)
    if (asked === undefined) return this.#begin(name)
    asked.next ??= asked.running.catch(() => undefined).then(() => this.#begin(name))
    return asked.next
  }

  #begin(name: string): Promise<void> {
    const running = this.#ask(name)
    const asked = { running }
    this.#asked.set(name, asked)
    const done = (): void => {
      if (this.#asked.get(name) === asked) this.#asked.delete(name)
    }
    running.then(done, done)
    return running
  }
}
