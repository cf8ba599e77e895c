import { InvariantError } from '../../../lib/assert.ts'
import type { Random } from '../../../lib/random.ts'

interface Event {
  readonly atMs: number
  readonly order: number
  run(): void
}

/** Events happen in the order of their times; between two events no time passes for anybody. */
export class VirtualTime {
  readonly random: Random
  #nowMs = 0
  #order = 0
  readonly #heap: Event[] = []

  constructor(random: Random) {
    this.random = random
  }

  get nowMs(): number {
    return this.#nowMs
  }

  /** When the next event happens; undefined if none does. */
  get nextMs(): number | undefined {
    return this.#heap[0]?.atMs
  }

  after(delayMs: number, run: () => void): void {
    this.#order += 1
    this.#push({ atMs: this.#nowMs + delayMs, order: this.#order, run })
  }

  /** Between the two, evenly. */
  between(leastMs: number, mostMs: number): number {
    return leastMs + (mostMs - leastMs) * this.random()
  }

  chance(probability: number): boolean {
    return this.random() < probability
  }

  pick<T>(values: readonly T[]): T | undefined {
    return values[Math.floor(this.random() * values.length)]
  }

  /** Runs everything that happens before the time. */
  runUntil(endMs: number): void {
    for (let next = this.#heap[0]; next !== undefined && next.atMs <= endMs; next = this.#heap[0]) {
      this.#pop()
      if (next.atMs < this.#nowMs) throw new InvariantError('time does not run backwards')
      this.#nowMs = next.atMs
      next.run()
    }
    this.#nowMs = endMs
  }

  #push(event: Event): void {
    const heap = this.#heap
    let at = heap.length
    while (at > 0) {
      const above = (at - 1) >> 1
      const parent = heap[above]
      if (parent === undefined || isBefore(parent, event)) break
      heap[at] = parent
      at = above
    }
    heap[at] = event
  }

  #pop(): void {
    const heap = this.#heap
    const moved = heap.pop()
    if (moved === undefined || heap.length === 0) return
    let at = 0
    for (;;) {
      const [left, right] = [heap[2 * at + 1], heap[2 * at + 2]]
      if (left === undefined) break
      const isRight = right !== undefined && isBefore(right, left)
      const least = isRight ? right : left
      if (isBefore(moved, least)) break
      heap[at] = least
      at = 2 * at + (isRight ? 2 : 1)
    }
    heap[at] = moved
  }
}

function isBefore(a: Event, b: Event): boolean {
  return a.atMs === b.atMs ? a.order < b.order : a.atMs < b.atMs
}
