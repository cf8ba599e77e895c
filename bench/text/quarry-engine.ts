// Our engine in process, by the code that its worker runs: documents come as JSON and are mapped, and
// a query comes as the JSON body of a request. What a client waits for beyond that, HTTP and the way
// to the worker, is measured by the rows that speak HTTP.

import { assert, must } from '../../lib/assert.ts'
import { systemClock } from '../../lib/clock.ts'
import { runAtOnce } from '../../lib/sliced.ts'
import { parseExact } from '../../node/document/exact-json.ts'
import { aggregationResults } from '../../node/index/text/aggregation/aggregation-result.ts'
import { mergePartials } from '../../node/index/text/aggregation/merge-partials.ts'
import type { TextIndexStats } from '../../node/index/text/engine/text-index.ts'
import { runTextSearch } from '../../node/index/text/search/run-text-search.ts'
import type { TextSearchAnswer } from '../../node/index/text/search/text-search.ts'
import { packBatch } from '../../node/index/text/worker/document-batch.ts'
import { TextMemory } from '../../node/index/text/engine/text-memory.ts'
import { HeldTextIndex } from '../../node/index/text/worker/held-text-index.ts'
import { parseQueryRequest } from '../../node/query/query-request.ts'
import type { QueryRequest } from '../../node/query/query-request.ts'
import { documentKey } from '../data/document-source.ts'
import { ARTICLE_SCHEMA } from './article-schema.ts'
import type { ArticleSource } from '../data/article-source.ts'
import { AGGREGATION, buildRequestBody } from '../data/request-body.ts'
import type { TextQuery } from '../data/query-classes.ts'
import type { TextAnswer, TextEngine } from '../peers/text-engine.ts'

const DOCUMENTS_PER_BATCH = 1000
/** Half of it is for pages of files: as much as SQLite is given for its cache, mapped files aside. */
const MEMORY_BYTES = 512 * 2 ** 20
/** After each batch, as the worker does between messages; a little longer, since nobody searches. */
const MAINTENANCE_MS = 20

export class QuarryEngine implements TextEngine {
  readonly #articles: ArticleSource
  readonly #held: HeldTextIndex
  #indexingMs = 0

  constructor(articles: ArticleSource, directory: string) {
    this.#articles = articles
    const schema = { version: 1, ...ARTICLE_SCHEMA }
    const source = { kind: 'given', schema } as const
    const memory = new TextMemory(MEMORY_BYTES)
    this.#held = HeldTextIndex.open(
      { directory, source, fields: [] },
      { clock: systemClock, memory },
    )
  }

  /** Mapping, indexing, flushing and merging, without making the documents. */
  get indexingMs(): number {
    return this.#indexingMs
  }

  load(documents: number): void {
    for (let from = 0; from < documents; from += DOCUMENTS_PER_BATCH) {
      const count = Math.min(DOCUMENTS_PER_BATCH, documents - from)
      const changes = Array.from({ length: count }, (_, i) => ({
        key: Buffer.from(documentKey(from + i)),
        json: Buffer.from(this.#articles.documentAt(from + i)),
        expiresAtMs: 0,
      }))
      this.#timed(() => {
        const { taken } = runAtOnce(this.#held.applyInSteps(packBatch(from + count, changes)))
        assert(taken === count, 'the schema of articles spells out their fields')
        this.#held.index.maintain(MAINTENANCE_MS)
      })
    }
    this.#timed(() => {
      for (const _ of this.#held.flushInSteps(documents));
      while (this.#held.index.maintain(MAINTENANCE_MS));
    })
  }

  prepare(query: TextQuery): () => unknown {
    const body = Buffer.from(buildRequestBody(query))
    return () => this.#search(parseQueryRequest(parseExact(body)))
  }

  answer(query: TextQuery): TextAnswer {
    const request = parseQueryRequest(parseExact(buildRequestBody(query)))
    const { total, hits, aggregations } = this.#search(request)
    if (query.outcome === 'by-price') {
      return { total, figures: hits.map(({ sortValues }) => Number(sortValues[0])) }
    }
    if (query.outcome === 'by-score') return { total, figures: [] }
    const merged = mergePartials([aggregations])
    const result = must(
      aggregationResults(request.aggregations, merged, systemClock.nowMs())[AGGREGATION],
      'aggregation',
    )
    const buckets = 'buckets' in result ? result.buckets : []
    return { total, figures: buckets.map(({ doc_count: count }) => count) }
  }

  stats(): TextIndexStats {
    return this.#held.index.stats()
  }

  [Symbol.dispose](): void {
    this.#held.index.close()
  }

  /** As the coordinator asks the one shard of a table. */
  #search({ fullText, filter, exclusion, keyPrefix, ...request }: QueryRequest): TextSearchAnswer {
    const { order, page, aggregations } = request
    const { limit } = page
    const search = {
      conditions: { query: fullText, filter, exclusion, keyPrefix },
      order,
      window: { kind: 'first', limit },
      aggregations,
      statistics: undefined,
      nowMs: systemClock.nowMs(),
    } as const
    return runAtOnce(runTextSearch(this.#held, search))
  }

  #timed(work: () => void): void {
    const startMs = systemClock.monotonicMs()
    work()
    this.#indexingMs += systemClock.monotonicMs() - startMs
  }
}
