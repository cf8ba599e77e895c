// Searches one index of vectors over all shards: the vector, then the nearest documents of each shard, merged.

import { ServiceError } from '../../../lib/errors.ts'
import { runInTurn, StepMeter, type Sliced } from '../../../lib/sliced.ts'
import { mergeHits } from '../../index/text/search/merge-hits.ts'
import { unpackNearest } from '../../index/vector/search/packed-nearest.ts'
import {
  NEAREST_LIMIT_MAX,
  type NearestHit,
  type NearestRequest,
} from '../../index/vector/vector-search.ts'
import { checkVector } from '../../query/request/vector-check.ts'
import { refuse } from '../../query/query-limits.ts'
import type { NearestFilter } from './filtered-nearest.ts'
import type { QueriedShard } from './queried-table.ts'
import type { NearestList } from './query-plan.ts'
import type { QueryRun } from './query-run.ts'
import type { ShardFanOut } from './shard-fan-out.ts'

const NUMBERS_PER_STEP = 250_000

/** One search in one index. */
export class NearestSearcher {
  readonly #run: QueryRun
  readonly #list: NearestList
  readonly #filter: NearestFilter

  constructor(run: QueryRun, list: NearestList, filter: NearestFilter) {
    this.#run = run
    this.#list = list
    this.#filter = filter
  }

  /** The nearest documents of all shards, at most `limit`. */
  async hits(fanOut: ShardFanOut<QueriedShard>, limit: number): Promise<readonly NearestHit[]> {
    const { from } = this.#list
    const vector = await this.#vector()
    // The document itself is nearest to its own vectors, and no answer.
    const own = from.kind === 'document' ? from.key : undefined
    const asked = Math.min(own === undefined ? limit : limit + 1, NEAREST_LIMIT_MAX)
    return this.#run.timed('nearest', async () => {
      const lists = await fanOut.askAll((shard) => this.#hitsOf(shard, { vector, limit: asked }))
      const merged = await this.#run.sliced(mergeHits(lists, asked, compareNearest))
      return own === undefined
        ? merged
        : merged.filter(({ key }) => !own.equals(key)).slice(0, limit)
    })
  }

  #hitsOf(
    shard: QueriedShard,
    sought: Pick<NearestRequest, 'vector' | 'limit'>,
  ): Promise<readonly NearestHit[]> {
    const { index } = this.#list
    const { distanceUnder, distanceOver, effort = 0.5 } = this.#run.request.vectors ?? {}
    const request: NearestRequest = {
      ...sought,
      effort,
      nowMs: this.#run.nowMs,
      ...(distanceUnder === undefined ? {} : { distanceUnder }),
      ...(distanceOver === undefined ? {} : { distanceOver }),
    }
    return this.#filter.nearest(shard, request, async (one) => {
      const asked = { kind: 'vectors', question: 'nearest', request: one } as const
      const packed = await this.#run.ask(shard, index.name, asked)
      return runInTurn(unpackNearest(packed), { clock: this.#run.clock, signal: this.#run.signal })
    })
  }

  async #vector(): Promise<Float32Array> {
    const { index, from } = this.#list
    if (from.kind === 'sent') return from.vector
    const vector = await this.#run.timed('embed', () =>
      from.kind === 'text' ? this.#embedded(from) : this.#stored(from.key),
    )
    // An embedder whose dimension changed must not reach the index.
    return checkVector({ kind: 'dense', vector }, index, `the vector for index "${index.name}"`)
  }

  #embedded({
    text,
    template,
  }: {
    readonly text: string
    readonly template: string | undefined
  }): Promise<Float32Array> {
    const { models = {} } = this.#run.parts
    const { name: table } = this.#run.table
    const { name: index } = this.#list.index
    if (models.embedQuery === undefined) {
      return refuse('semantic_search', `this node embeds no texts; send a vector in embeddings`)
    }
    return models.embedQuery({ table, index, text, template }, this.#run.signal)
  }

  async #stored(key: Buffer): Promise<Float32Array> {
    const { vectorsOf, name } = this.#run.table
    const { index } = this.#list
    if (vectorsOf === undefined) {
      return refuse('similar_to', 'this node reads no stored vectors; send one in embeddings')
    }
    const vectors = (await vectorsOf(index.name, key, this.#run.signal)) ?? []
    if (vectors.length > 0) return this.#run.sliced(meanOf(vectors, index.metric === 'cosine'))
    throw new ServiceError(
      'NOT_FOUND',
      `similar_to.key: index "${index.name}" of table "${name}" has no vector of ` +
        JSON.stringify(key.toString().slice(0, 128)),
    )
  }
}

/** A document of several parts is sought by the middle of them; by cosine each part has the same say. */
function* meanOf(vectors: readonly Float32Array[], isByDirection: boolean): Sliced<Float32Array> {
  const [first = new Float32Array()] = vectors
  if (vectors.length === 1) return first
  const meter = new StepMeter(NUMBERS_PER_STEP)
  const sum = new Float64Array(first.length)
  for (const vector of vectors) {
    if (meter.spend(vector.length)) yield
    let squares = 0
    for (const one of vector) squares += one * one
    const share = isByDirection && squares > 0 ? 1 / Math.sqrt(squares) : 1
    for (let i = 0; i < sum.length; i++) sum[i] = (sum[i] ?? 0) + (vector[i] ?? 0) * share
  }
  return Float32Array.from(sum, (one) => one / vectors.length)
}

function compareNearest(a: NearestHit, b: NearestHit): number {
  return a.distance === b.distance ? Buffer.compare(a.key, b.key) : a.distance - b.distance
}
