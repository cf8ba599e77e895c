// What a search finds, against a comparison with all documents, and what it takes.

import type { Bench } from '../suite.ts'
import { nearestExactly, type VectorSource } from './vector-source.ts'

export const LIMIT = 10
export const RECALL_MIN = 0.95

export type Passes = (number: number) => boolean
const everything: Passes = () => true

/** Finds some documents for a query. */
export type Search = (query: Float32Array) => readonly number[]

export class SearchJudge {
  readonly #bench: Bench
  readonly #source: VectorSource
  readonly #exact = new Map<Passes, readonly (readonly number[])[]>()

  constructor(bench: Bench, source: VectorSource) {
    this.#bench = bench
    this.#source = source
  }

  /** The share of the nearest documents, of those that pass, that a search finds. */
  recall(search: Search, passes: Passes = everything): number {
    const expected = this.#exactly(passes)
    let [found, wanted] = [0, 0]
    for (const [i, query] of this.#source.queries.entries()) {
      const nearest = new Set(expected[i])
      found += search(query).filter((number) => nearest.has(number)).length
      wanted += nearest.size
    }
    return found / wanted
  }

  /** Milliseconds of a search on average, in turns. */
  turns(one: Search, other: Search): { readonly ours: number[]; readonly peer: number[] } {
    const ours: number[] = []
    const peer: number[] = []
    for (let run = 0; run < this.#bench.runs; run += 1) {
      ours.push(this.latency(one))
      peer.push(this.latency(other))
    }
    return { ours, peer }
  }

  /** One for each run. */
  latencies(search: Search): readonly number[] {
    return Array.from({ length: this.#bench.runs }, () => this.latency(search))
  }

  /** Milliseconds of a search on average, over all queries. */
  latency(search: Search): number {
    const { queries } = this.#source
    return this.timeOf(() => queries.forEach((query) => search(query))) / queries.length
  }

  timeOf(work: () => void): number {
    const beganMs = this.#bench.clock.monotonicMs()
    work()
    return this.#bench.clock.monotonicMs() - beganMs
  }

  #exactly(passes: Passes): readonly (readonly number[])[] {
    const known = this.#exact.get(passes)
    if (known !== undefined) return known
    const asked = { limit: LIMIT, passes }
    const found = this.#source.queries.map((query) => nearestExactly(this.#source, query, asked))
    this.#exact.set(passes, found)
    return found
  }
}

/** How many in a second, from milliseconds for each. */
export function ratesOf(ms: readonly number[]): readonly number[] {
  return ms.map((one) => 1000 / one)
}
