// The library alone: what our engine is compared with.

import { Index, MetricKind, ScalarKind } from 'usearch'
import { DIMENSION, type VectorSource } from './vector-source.ts'

const CONNECTIVITY = 16
const EXPANSION_ADD = 128

/** A graph of all documents in memory, without keys, deletions or durability. */
export class BareUsearch {
  readonly #index = new Index({
    dimensions: DIMENSION,
    metric: MetricKind.Cos,
    quantization: ScalarKind.F16,
    connectivity: CONNECTIVITY,
    expansion_add: EXPANSION_ADD,
    expansion_search: 1,
    multi: false,
  })

  write(source: VectorSource, numbers: readonly number[]): void {
    for (const number of numbers) this.#index.add(BigInt(number), source.vectorOf(number), 1)
  }

  /** `width` candidates are looked at, of which the first `limit` count. */
  nearest(
    vector: Float32Array,
    { limit, width }: { readonly limit: number; readonly width: number },
  ): readonly number[] {
    const { keys } = this.#index.search(vector, Math.max(limit, width), 1)
    return Array.from(keys.subarray(0, limit), Number)
  }
}
