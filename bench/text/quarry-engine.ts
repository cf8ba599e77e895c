// Our engine in process, with the code that its worker runs. Documents arrive as JSON and are mapped; a
// query arrives as the JSON body of a request. The rows over HTTP measure HTTP and the worker's messages.

import { assert, must } from '../../lib/assert.ts'
import { systemClock } from '../../lib/clock.ts'
import { runAtOnce } from '../../lib/sliced.ts'
import { parseExact } from '../../node/document/exact-json.ts'
import { aggregationResults } from '../../node/index/text/aggregation/aggregation-result.ts'
import { mergePartials } from '../../node/index/text/aggregation/merge-partials.ts'
import type { SegmentedStats } from '../../node/index/segments/segmented-index.ts'
import { runTextSearch } from '../../node/index/text/search/run-text-search.ts'
import type { TextSearchAnswer } from '../../node/index/text/search/text-search.ts'
import { packBatch } from '../../node/index/host/document-batch.ts'
import { TextMemory } from '../../node/index/text/engine/text-memory.ts'
import { TextEngine as HostedEngine } from '../../node/index/text/hosted/text-engine.ts'
import { parseQueryRequest } from '../../node/query/request/query-request.ts'
import type { QueryRequest } from '../../node/query/request/query-request.ts'
import { documentKey } from '../data/document-source.ts'
import { ARTICLE_SCHEMA } from './article-schema.ts'
import type { ArticleSource } from '../data/article-source.ts'
import { AGGREGATION, buildRequestBody } from '../data/request-body.ts'
import type { TextQuery } from '../data/query-classes.ts'
import type { TextAnswer, TextEngine } from '../peers/text-engine.ts'

const ARTICLES = { id: '0123456789abcdef', kind: 'text', name: 'articles', memOnly: false } as const
const DOCUMENTS_PER_BATCH = 1000
/** Half of it is for pages of files: as much as SQLite is given for its cache, mapped files aside. */
const MEMORY_BYTES = 512 * 2 ** 20
/** After each batch, as the worker does between messages; a little longer, since nobody searches. */
const MAINTENANCE_MS = 20

/** Our engine for the comparison. */
export class QuarryEngine implements TextEngine {
  readonly #articles: ArticleSource
  readonly #held: HostedEngine
  #indexingMs = 0

  constructor(articles: ArticleSource, directory: string) {
    this.#articles = articles
    const schema = { version: 1, ...ARTICLE_SCHEMA }
    const source = { kind: 'given', schema } as const
    const memory = new TextMemory(MEMORY_BYTES)
    this.#held = HostedEngine.open(
      { definition: ARTICLES, directory, source, fields: [] },
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
        const { taken } = runAtOnce(this.#held.apply(packBatch(from + count, changes)))
        assert(taken === count, 'the schema of articles spells out their fields')
        this.#held.index.maintain(MAINTENANCE_MS)
      })
    }
    this.#timed(() => {
      for (const _ of this.#held.flush(documents));
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

  stats(): SegmentedStats {
    return this.#held.index.stats()
  }

  [Symbol.dispose](): void {
    this.#held.index.close()
  }

  /** Searches as the coordinator does in a table of one shard. */
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
