/** Lets `permits` pieces of work run at once, and the others wait in the order in which they came. */
export class Permits {
  #left: number
  readonly #waiting: (() => void)[] = []

  constructor(permits: number) {
    this.#left = permits
  }

  async run<Result>(work: () => Promise<Result>): Promise<Result> {
    if (this.#left > 0) this.#left -= 1
    else await new Promise<void>((resolve) => this.#waiting.push(resolve))
    try {
      return await work()
    } finally {
      const next = this.#waiting.shift()
      if (next === undefined) this.#left += 1
      else next()
    }
  }
}
