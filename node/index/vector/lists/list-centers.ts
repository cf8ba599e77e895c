// The centers of a segment's lists, chosen by k-means (Lloyd's rounds over a sample), as small integers.

import { must } from '../../../../lib/assert.ts'
import type { Sliced } from '../../../../lib/sliced.ts'
import { MEASURED_MAX, strideOf, type CodeMemory, type Kernels } from '../kernels/code-memory.ts'

/** The most lists: all centers are measured in one call. */
export const LISTS_MAX = MEASURED_MAX
/** Rows for each center that k-means looks at, and how often. */
const SAMPLED_PER_LIST = 32
const ROUNDS = 6

/** At most `wanted` of the numbers below a count, at even distances. */
export function* evenly(count: number, wanted: number): Generator<number> {
  const chosen = Math.min(count, wanted)
  for (let i = 0; i < chosen; i += 1) yield Math.floor((i * count) / chosen)
}

/** The centers while lists are made. */
export class ListCenters {
  readonly count: number
  readonly #dimension: number
  readonly #memory: CodeMemory

  constructor(kernels: Kernels, { dimension, count }: Record<'dimension' | 'count', number>) {
    this.count = count
    this.#dimension = dimension
    this.#memory = kernels.memoryOf(dimension, count)
    for (let list = 0; list < count; list += 1) this.#memory.rows[list] = list
  }

  /** As the kernels read them. */
  get codes(): Uint8Array {
    return this.#memory.codes
  }

  /** Nearness in space makes good lists by every metric. */
  nearestTo(integers: Int8Array): number {
    this.#memory.measure(integers, 'l2_squared', this.count)
    const { distances } = this.#memory
    let nearest = 0
    for (let list = 1; list < this.count; list += 1) {
      if ((distances[list] ?? 0) < (distances[nearest] ?? 0)) nearest = list
    }
    return nearest
  }

  /** `rowOf` encodes a row, which is good until the next one. */
  *choose(rowCount: number, rowOf: (row: number) => Int8Array): Sliced<void> {
    const sample: Int8Array[] = []
    for (const row of evenly(rowCount, this.count * SAMPLED_PER_LIST)) {
      sample.push(rowOf(row).slice())
      yield
    }
    for (const [list, at] of [...evenly(sample.length, this.count)].entries()) {
      this.#set(list, must(sample[at], 'a sampled row'))
    }
    for (let round = 0; round < ROUNDS; round += 1) yield* this.#move(sample)
  }

  /** Each center to the middle of its rows; one that no row is nearest to stays where it is. */
  *#move(sample: readonly Int8Array[]): Sliced<void> {
    const sums = Array.from({ length: this.count }, () => new Float32Array(this.#dimension))
    const counts = new Uint32Array(this.count)
    for (const one of sample) {
      const list = this.nearestTo(one)
      const sum = must(sums[list], 'a sum')
      for (let i = 0; i < sum.length; i += 1) sum[i] = (sum[i] ?? 0) + (one[i] ?? 0)
      counts[list] = (counts[list] ?? 0) + 1
      yield
    }
    for (const [list, sum] of sums.entries()) {
      const count = counts[list] ?? 0
      if (count > 0) {
        this.#set(
          list,
          Int8Array.from(sum, (value) => Math.round(value / count)),
        )
      }
      yield
    }
  }

  #set(list: number, integers: Int8Array): void {
    const bytes = new Uint8Array(integers.buffer, integers.byteOffset, integers.length)
    this.#memory.codes.set(bytes, list * strideOf(this.#dimension))
  }
}
