// Which of some work is done, where it is begun in order and ends in any order.

import type { Ending } from './ending.ts'

/** A part of the work. It is done when everything that was added has ended, and it was closed. */
export interface WorkUnit {
  /** One more thing to do. */
  add(): void
  /** One of those has ended. */
  ended(): void
  /** Nothing will be added. */
  close(): void
}

class Unit<Mark> implements WorkUnit {
  readonly mark: Mark
  readonly #onDone: () => void
  #left = 1

  constructor(mark: Mark, onDone: () => void) {
    this.mark = mark
    this.#onDone = onDone
  }

  get isDone(): boolean {
    return this.#left === 0
  }

  add(): void {
    this.#left += 1
  }

  ended(): void {
    this.#left -= 1
    if (this.#left === 0) this.#onDone()
  }

  close(): void {
    this.ended()
  }
}

/** Units of work in the order of their begin. A mark says what is done with the unit and all before it. */
export class OrderedWork<Mark> {
  #units: Unit<Mark>[] = []
  #idle: (() => void)[] = []
  #completed: Mark | undefined

  /** The mark of the last unit of those that are done without a gap; undefined before the first. */
  get completed(): Mark | undefined {
    return this.#completed
  }

  begin(mark: Mark): WorkUnit {
    const unit = new Unit(mark, () => this.#advance())
    this.#units.push(unit)
    return unit
  }

  /** Resolves when everything that was begun is done; rejects at the end. */
  async idle(ending: Ending): Promise<void> {
    if (this.#units.length === 0) return
    await ending.unlessOver((resolve) => this.#idle.push(resolve))
  }

  #advance(): void {
    const gap = this.#units.findIndex(({ isDone }) => !isDone)
    const done = this.#units.splice(0, gap < 0 ? this.#units.length : gap)
    const last = done.at(-1)
    if (last !== undefined) this.#completed = last.mark
    if (this.#units.length > 0) return
    for (const resolve of this.#idle.splice(0)) resolve()
  }
}
