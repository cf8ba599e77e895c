// The centers of a segment's lists, chosen by k-means over a sample, as small integers: seeds that are far from each
// other (Arthur and Vassilvitskii's k-means++), then Lloyd's rounds. Rows next to which no center lies are spread over
// many lists, where searches do not find them; with seeds drawn evenly that was a third of the topics.

import { must } from '../../../../lib/assert.ts'
import { seededRandom } from '../../../../lib/random.ts'
import type { Sliced } from '../../../../lib/sliced.ts'
import { MEASURED_MAX, strideOf, type CodeMemory, type Kernels } from '../kernels/code-memory.ts'
import type { IntegerMetric } from '../kernels/simd-kernels.ts'

/** The most lists: a search measures the centers of all. */
export const LISTS_MAX = 4096
/** Rows for each center that k-means looks at, and how often. */
const SAMPLED_PER_LIST = 16
const ROUNDS = 6
/** The same rows have the same lists in each build. */
const SEED = 1

/**
 * At most `wanted` of the numbers below a count, ascending, one by chance from each of as many equal parts. Numbers at even
 * distances would miss most topics of documents whose topics take turns.
 */
export function* sampled(count: number, wanted: number): Generator<number> {
  const random = seededRandom(SEED)
  const chosen = Math.min(count, wanted)
  const startOf = (part: number): number => Math.floor((part * count) / chosen)
  for (let i = 0; i < chosen; i += 1) {
    yield startOf(i) + Math.floor(random() * (startOf(i + 1) - startOf(i)))
  }
}

/** The centers while lists are made. */
export class ListCenters {
  readonly count: number
  readonly #dimension: number
  readonly #kernels: Kernels
  readonly #memory: CodeMemory

  constructor(kernels: Kernels, { dimension, count }: Record<'dimension' | 'count', number>) {
    this.count = count
    this.#dimension = dimension
    this.#kernels = kernels
    this.#memory = kernels.memoryOf(dimension, count)
  }

  /** As the kernels read them. */
  get codes(): Uint8Array {
    return this.#memory.codes
  }

  /** Nearness in space makes good lists by every metric. */
  nearestTo(integers: Int8Array): number {
    let [nearest, least] = [0, Infinity]
    for (const { from, count, distances } of measureAll(this.#memory, METRIC, {
      query: integers,
      rowCount: this.count,
    })) {
      for (let i = 0; i < count; i += 1) {
        const distance = distances[i] ?? 0
        if (distance < least) [nearest, least] = [from + i, distance]
      }
    }
    return nearest
  }

  /** `rowOf` encodes a row, which is good until the next one. */
  *choose(rowCount: number, rowOf: (row: number) => Int8Array): Sliced<void> {
    const sample: Int8Array[] = []
    for (const row of sampled(rowCount, this.count * SAMPLED_PER_LIST)) {
      sample.push(rowOf(row).slice())
      yield
    }
    yield* this.#seed(sample)
    for (let round = 0; round < ROUNDS; round += 1) yield* this.#move(sample)
  }

  /** A row becomes a center with a probability that grows with the square of its distance from the others. */
  *#seed(sample: readonly Int8Array[]): Sliced<void> {
    const random = seededRandom(SEED)
    const memory = this.#kernels.memoryOf(this.#dimension, sample.length)
    for (const [at, integers] of sample.entries()) {
      memory.codes.set(bytesOf(integers), at * strideOf(this.#dimension))
      if (at % SET_PER_STEP === 0) yield
    }
    const squares = new Float32Array(sample.length).fill(Infinity)
    let at = 0
    for (let list = 0; list < this.count; list += 1) {
      const center = must(sample[at], 'a sampled row')
      this.#set(list, center)
      let sum = 0
      const rowCount = sample.length
      for (const part of measureAll(memory, METRIC, { query: center, rowCount })) {
        for (let i = 0; i < part.count; i += 1) {
          const square = Math.min(squares[part.from + i] ?? 0, part.distances[i] ?? 0)
          squares[part.from + i] = square
          sum += square
        }
        yield
      }
      at = drawn(squares, random() * sum)
    }
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
    this.#memory.codes.set(bytesOf(integers), list * strideOf(this.#dimension))
  }
}

const METRIC = 'l2_squared'
/** Rows that are copied in some tenths of a millisecond. */
const SET_PER_STEP = 1024

/** Where the sum of the first weights exceeds a number; the last one if none does. */
function drawn(weights: Float32Array, chosen: number): number {
  let sum = 0
  for (let i = 0; i < weights.length; i += 1) {
    sum += weights[i] ?? 0
    if (sum > chosen) return i
  }
  return weights.length - 1
}

function bytesOf({ buffer, byteOffset, length }: Int8Array): Uint8Array {
  return new Uint8Array(buffer, byteOffset, length)
}

/** Distances of some rows: good until the next part. */
export interface MeasuredPart {
  /** The number of the first one. */
  readonly from: number
  readonly count: number
  readonly distances: Float32Array
}

/** Measures the first rows of a memory, as many in each part as one call takes. */
export function* measureAll(
  memory: CodeMemory,
  metric: IntegerMetric,
  { query, rowCount }: { readonly query: Int8Array; readonly rowCount: number },
): Generator<MeasuredPart> {
  for (let from = 0; from < rowCount; from += MEASURED_MAX) {
    const count = Math.min(MEASURED_MAX, rowCount - from)
    for (let i = 0; i < count; i += 1) memory.rows[i] = from + i
    memory.measure(query, metric, count)
    yield { from, count, distances: memory.distances }
  }
}
