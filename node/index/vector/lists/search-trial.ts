// Tries what was built before anybody relies on it: searches for some rows, and for vectors between rows, and compares what is
// found with what an exact comparison with all rows finds. No graph and no lists suit all vectors. Where rows are
// of very different lengths, for example, nearly all edges of a graph lead to the few that are near to all others.

import type { Sliced } from '../../../../lib/sliced.ts'
import type { DenseIndexSettings } from '../../../embedding/settings.ts'
import { queriesOf, sampleSize, type SampledRows } from '../graph/code-check.ts'
import { EFFORT_DEFAULT, patienceOf, rescoredCount, widthOf } from '../graph/effort.ts'
import { Quantizer, type GraphCodes } from '../graph/quantizer.ts'
import type { VectorGraph } from '../graph/vector-graph.ts'
import { distanceFrom } from '../kernels/distance.ts'
import { sampled } from './list-centers.ts'
import type { RowSource } from './lists-builder.ts'
import type { RowLists, RowTest } from './row-lists.ts'
import { searchLists } from './search-lists.ts'

const QUERIES = 8
const NEAREST = 10
/** The least share of the nearest that searches of the default effort have to find. */
const FOUND_MIN = 0.95

/** How well searches found what they were tried with. */
export interface Trial {
  /** The share of the nearest rows that were found, from 0 to 1. */
  readonly found: number
}

/** Whether searches may rely on what was tried. */
export function isReliable({ found }: Trial): boolean {
  return found >= FOUND_MIN
}

interface TriedQuery {
  readonly query: Float32Array
  /** The distance of the last of the nearest: rows may be equally near. */
  readonly bar: number
  readonly wanted: number
}

/** Some rows by chance, the same ones in each build. */
export function* sampleOf(source: RowSource, dimension: number): Sliced<SampledRows> {
  const rows = [...sampled(source.rowCount, sampleSize(dimension))]
  const vectors = new Float32Array(rows.length * dimension)
  for (const [i, row] of rows.entries()) {
    const from = source.row(row)
    vectors.set(from.vectors.subarray(from.at, from.at + dimension), i * dimension)
    yield
  }
  return { vectors, rowCount: rows.length }
}

/** The searches with which the graph and the lists of one segment are tried. */
export class SearchTrial {
  readonly #settings: DenseIndexSettings
  readonly #source: RowSource
  readonly #queries: readonly TriedQuery[]

  private constructor(
    settings: DenseIndexSettings,
    source: RowSource,
    queries: readonly TriedQuery[],
  ) {
    this.#settings = settings
    this.#source = source
    this.#queries = queries
  }

  /** Compares with all rows, one a step. */
  static *prepare(settings: DenseIndexSettings, source: RowSource): Sliced<SearchTrial> {
    const sample = yield* sampleOf(source, settings.dimension)
    const queries = [...queriesOf(sample, settings, QUERIES)].map((query) => {
      return { query, distance: distanceFrom(settings.metric, query), nearest: new Nearest() }
    })
    for (let row = 0; row < source.rowCount; row += 1) {
      const { vectors, at } = source.row(row)
      for (const { distance, nearest } of queries) nearest.offer(distance(vectors, at))
      yield
    }
    const tried = queries.map(({ query, nearest }) => {
      return { query, bar: nearest.bar, wanted: nearest.count }
    })
    return new SearchTrial(settings, source, tried)
  }

  *ofGraph(graph: VectorGraph, codes: GraphCodes): Sliced<Trial> {
    const quantizer = new Quantizer(this.#settings, codes)
    const compared = rescoredCount(codes.form.numbers, { limit: NEAREST, effort: EFFORT_DEFAULT })
    const count = Math.max(widthOf(EFFORT_DEFAULT), compared)
    return yield* this.#tried(function* (query) {
      yield
      return graph.search(quantizer.encodeQuery(query), count).rows.subarray(0, compared)
    })
  }

  *ofLists(lists: RowLists): Sliced<Trial> {
    const { rowCount } = this.#source
    const asked = {
      rescored: rescoredCount('i8', { limit: NEAREST, effort: EFFORT_DEFAULT }),
      limit: NEAREST,
      patience: patienceOf(EFFORT_DEFAULT, { rowCount, passing: 1 }),
    }
    const settings = this.#settings
    return yield* this.#tried(function* (vector) {
      const query = lists.queryOf(settings, vector)
      return (yield* searchLists(lists, { query, ...asked }, ALL_ROWS)).rows
    })
  }

  *#tried(search: (query: Float32Array) => Sliced<Uint32Array>): Sliced<Trial> {
    let [found, wanted] = [0, 0]
    for (const tried of this.#queries) {
      const exact = distanceFrom(this.#settings.metric, tried.query)
      let near = 0
      for (const row of yield* search(tried.query)) {
        const { vectors, at } = this.#source.row(row)
        if (exact(vectors, at) <= tried.bar) near += 1
      }
      found += Math.min(near, tried.wanted)
      wanted += tried.wanted
      yield
    }
    return { found: wanted === 0 ? 1 : found / wanted }
  }
}

const ALL_ROWS: RowTest = {
  gather(_, { from, to }, places) {
    for (let place = from; place < to; place += 1) places[place - from] = place
    return to - from
  },
}

/** The least of the offered distances. */
class Nearest {
  readonly #distances: number[] = []

  get count(): number {
    return this.#distances.length
  }

  get bar(): number {
    return this.#distances.at(-1) ?? Infinity
  }

  offer(distance: number): void {
    const distances = this.#distances
    if (distances.length === NEAREST) {
      if (!(distance < this.bar)) return
      distances.pop()
    }
    const at = distances.findIndex((one) => one > distance)
    distances.splice(at < 0 ? distances.length : at, 0, distance)
  }
}
