import type { Timestamp } from '../clock/hybrid-clock.ts'

/** The timestamps at which somebody is reading: history at and above the oldest one must stay. */
export class ReadPins {
  readonly #counts = new Map<Timestamp, number>()

  /** Disposing the pin lets go of the timestamp. */
  pin(at: Timestamp): Disposable {
    this.#counts.set(at, (this.#counts.get(at) ?? 0) + 1)
    let held = true
    return {
      [Symbol.dispose]: () => {
        if (held) this.#release(at)
        held = false
      },
    }
  }

  oldest(): Timestamp | undefined {
    return [...this.#counts.keys()].reduce<Timestamp | undefined>(
      (oldest, at) => (oldest === undefined || at < oldest ? at : oldest),
      undefined,
    )
  }

  #release(at: Timestamp): void {
    const count = this.#counts.get(at) ?? 0
    if (count > 1) this.#counts.set(at, count - 1)
    else this.#counts.delete(at)
  }
}
