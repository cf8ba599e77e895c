// Searches one index of vectors over all shards: the vector, then the nearest documents of each shard, merged.

import { ServiceError } from '../../../lib/errors.ts'
import { runInTurn } from '../../../lib/sliced.ts'
import { VECTOR_INDEX } from '../../index/kinds/vector-descriptor.ts'
import { mergeHits } from '../../index/text/search/merge-hits.ts'
import { unpackNearest } from '../../index/vector/search/packed-nearest.ts'
import {
  NEAREST_LIMIT_MAX,
  type NearestHit,
  type NearestRequest,
  type SparseRequest,
} from '../../index/vector/vector-search.ts'
import { checkVector } from '../../query/request/vector-check.ts'
import { refuse } from '../../query/query-limits.ts'
import type { ListThreshold } from '../../query/request/threshold-request.ts'
import type { WrittenVector } from '../../embedding/vector-forms.ts'
import { meanVector } from './mean-vector.ts'
import type { NearestFilter } from './filtered-nearest.ts'
import type { QueriedShard } from '../tables/queried-table.ts'
import type { NearestList } from '../plan/query-lists.ts'
import type { QueryRun } from '../run/query-run.ts'
import type { ShardFanOut } from '../run/shard-fan-out.ts'

/** A list with the bounds of its own, which come before those of the request. */
type BoundedList = NearestList & Pick<ListThreshold, 'distanceUnder' | 'distanceOver'>

/** One search in one index. */
export class NearestSearcher {
  readonly #run: QueryRun
  readonly #list: BoundedList
  readonly #filter: NearestFilter

  constructor(run: QueryRun, list: BoundedList, filter: NearestFilter) {
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
    sought: { readonly vector: WrittenVector; readonly limit: number },
  ): Promise<readonly NearestHit[]> {
    const { index } = this.#list
    const request = this.#requestFor(sought)
    return this.#filter.nearest(shard, request, async (one) => {
      const asked = { kind: VECTOR_INDEX.kind, question: 'nearest', request: one } as const
      const packed = await this.#run.ask(shard, index.name, asked)
      return runInTurn(unpackNearest(packed), { clock: this.#run.clock, signal: this.#run.signal })
    })
  }

  #requestFor({
    vector: sought,
    limit,
  }: {
    readonly vector: WrittenVector
    readonly limit: number
  }): NearestRequest | SparseRequest {
    const { nowMs } = this.#run
    if (sought.kind === 'sparse') {
      const { terms, weights } = sought
      return { vector: { terms, weights }, limit, nowMs }
    }
    const { vectors } = this.#run.request
    const { oversampling, effort = 0.5 } = vectors ?? {}
    const distanceUnder = this.#list.distanceUnder ?? vectors?.distanceUnder
    const distanceOver = this.#list.distanceOver ?? vectors?.distanceOver
    return {
      vector: sought.vector,
      limit,
      effort,
      nowMs,
      ...(oversampling === undefined ? {} : { oversampling }),
      ...(distanceUnder === undefined ? {} : { distanceUnder }),
      ...(distanceOver === undefined ? {} : { distanceOver }),
    }
  }

  async #vector(): Promise<WrittenVector> {
    const { index, from } = this.#list
    if (from.kind === 'sent') return from.vector
    const vector = await this.#run.timed('embed', () =>
      from.kind === 'text' ? this.#embedded(from) : this.#stored(from.key),
    )
    // An embedder whose dimension changed must not reach the index.
    return checkVector(vector, index, `the vector for index "${index.name}"`)
  }

  async #embedded({
    text,
    template,
  }: {
    readonly text: string
    readonly template: string | undefined
  }): Promise<WrittenVector> {
    const { models = {} } = this.#run.parts
    const { name: table } = this.#run.table
    const { name: index } = this.#list.index
    if (models.embedQuery === undefined) {
      return refuse('semantic_search', `this node embeds no texts; send a vector in embeddings`)
    }
    const embed = models.embedQuery.bind(models, { table, index, text, template })
    const hasWords = this.#run.request.merge?.strategy === 'failover'
    const asked = hasWords ? this.#run.inHalfTheTime(embed) : embed(this.#run.signal)
    const vector = await this.#run.deadline.whileWaiting(silent(index), asked)
    return { kind: 'dense', vector }
  }

  async #stored(key: Buffer): Promise<WrittenVector> {
    const { vectorsOf, name } = this.#run.table
    const { index } = this.#list
    if (vectorsOf === undefined) {
      return refuse('similar_to', 'this node reads no stored vectors; send one in embeddings')
    }
    const vectors = (await vectorsOf(index.name, key, this.#run.signal)) ?? []
    if (vectors.length > 0) return this.#run.sliced(meanVector(vectors, index))
    throw new ServiceError(
      'NOT_FOUND',
      `similar_to.key: index "${index.name}" of table "${name}" has no vector of ` +
        JSON.stringify(key.toString().slice(0, 128)),
    )
  }
}

function silent(index: string): string {
  return (
    `the model of index "${index}" had not answered; give the query a longer timeout, or the strategy failover, which ` +
    'looks for words instead'
  )
}

function compareNearest(a: NearestHit, b: NearestHit): number {
  return a.distance === b.distance ? Buffer.compare(a.key, b.key) : a.distance - b.distance
}
