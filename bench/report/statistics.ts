import { assert, must } from '../../lib/assert.ts'

export interface Spread {
  readonly median: number
  readonly min: number
  readonly max: number
}

export function spreadOf(values: readonly number[]): Spread {
  assert(values.length > 0, 'a spread needs at least one value')
  return { median: median(values), min: Math.min(...values), max: Math.max(...values) }
}

/** Of an even number of values, the mean of the two in the middle. */
export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b)
  const half = Math.floor(sorted.length / 2)
  const upper = must(sorted[half], 'the middle of at least one value')
  return sorted.length % 2 === 1 ? upper : (upper + must(sorted[half - 1], 'lower middle')) / 2
}

/** The nearest rank: the smallest value that at least `fraction` of all values do not exceed. */
export function percentile(sorted: Float64Array, fraction: number): number {
  assert(fraction > 0 && fraction <= 1, 'a percentile lies in (0, 1]')
  const rank = Math.ceil(sorted.length * fraction)
  return must(sorted[rank - 1], 'a percentile of at least one value')
}

/** Growing numbers, without an object for each. */
export class Samples {
  #values = new Float64Array(4096)
  #length = 0

  get length(): number {
    return this.#length
  }

  add(value: number): void {
    if (this.#length === this.#values.length) {
      const larger = new Float64Array(this.#length * 2)
      larger.set(this.#values)
      this.#values = larger
    }
    this.#values[this.#length] = value
    this.#length += 1
  }

  sorted(): Float64Array {
    return this.#values.subarray(0, this.#length).toSorted()
  }
}
