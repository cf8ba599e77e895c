// The vectors of the suite in a table of a server, as users run it.

import {
  batchPath,
  call,
  createIndexedTable,
  createTable,
  SETTLE_TIMEOUT_MS,
  tablePath,
} from '../documents/quarry-server.ts'
import type { QuarryServer } from '../documents/quarry-server.ts'
import type { ArticleSource } from '../data/article-source.ts'
import { drawQueries, TOP_HITS_CLASSES } from '../data/query-classes.ts'
import type { Bodies } from '../load/load-job.ts'
import { must } from '../../lib/assert.ts'
import { buildRequestBody } from '../data/request-body.ts'
import { settle } from '../process-memory.ts'
import type { Bench } from '../suite.ts'
import { LIMIT, type Search } from './search-judge.ts'
import { DIMENSION, type VectorSource } from './vector-source.ts'

const TABLE = 'vectors'
const INDEX = 'nearest'
export const DOCUMENTS_PER_BATCH = 250
const POLL_MS = 50
/** An index is flushed half a minute after the first change that is not on disk. */
const FLUSHED_MS = 31_000
/** A row gets into lists and a graph in less. */
const MERGED_MS = 1
const WORDS_INDEX = 'full_text_index_v0'

/** What is served. */
export interface ServedVectorsOptions {
  readonly bench: Bench
  readonly source: VectorSource
  readonly server: QuarryServer
  /** The documents have their texts, and the table an index of them; undefined: they have vectors alone. */
  readonly articles?: ArticleSource
}

export class ServedVectors {
  readonly #bench: Bench
  readonly #source: VectorSource
  readonly #server: QuarryServer
  readonly #articles: ArticleSource | undefined

  private constructor({ bench, source, server, articles }: ServedVectorsOptions) {
    this.#bench = bench
    this.#source = source
    this.#server = server
    this.#articles = articles
  }

  /** A table of one shard with all vectors, when they can be searched. */
  static async load(options: ServedVectorsOptions): Promise<ServedVectors> {
    const { source, server, articles } = options
    const served = new ServedVectors(options)
    const create = articles === undefined ? createTable : createIndexedTable
    await create(server, TABLE, { num_shards: 1 })
    await call(served.#urlOf(INDEX), 'POST', {
      type: 'embeddings',
      external: true,
      dimension: DIMENSION,
      distance_metric: 'cosine',
    })
    const numbers = Array.from({ length: source.count }, (_, number) => number)
    for (let from = 0; from < source.count; from += DOCUMENTS_PER_BATCH) {
      const body = served.#insertsOf(numbers.slice(from, from + DOCUMENTS_PER_BATCH), from)
      await post(`${server.origin}${batchPath(TABLE)}`, body)
    }
    await served.settled(source.count)
    return served
  }

  get origin(): string {
    return this.#server.origin
  }

  /** When so many documents are found, and the server has nothing left to do. */
  async settled(count: number): Promise<void> {
    await this.indexed(count)
    // A graph of a million vectors takes minutes.
    const timeoutMs = SETTLE_TIMEOUT_MS + count * MERGED_MS
    await settle(this.#server.process.pid, this.#bench.clock, timeoutMs)
  }

  /** When so many documents are found. */
  async indexed(count: number): Promise<void> {
    const { clock } = this.#bench
    const names = this.#articles === undefined ? [INDEX] : [INDEX, WORDS_INDEX]
    for (const name of names) {
      for (;;) {
        const { status }: Told = JSON.parse(await call(this.#urlOf(name), 'GET'))
        if (status.total_indexed >= count) break
        await clock.sleep(POLL_MS)
      }
    }
  }

  /** One request of `inserts`. */
  async write(path: string, body: string): Promise<void> {
    await post(`${this.origin}${path}`, body)
  }

  /** When all vectors are on disk as well, and in graphs: newer ones are compared with one by one. */
  async flushed(): Promise<void> {
    await this.#bench.clock.sleep(FLUSHED_MS)
    await this.settled(this.#source.count)
  }

  /** The suite's queries, again and again. */
  searches(effort: number): Bodies {
    return plan(this.#source.queries.map((query) => ({ ...embeddingsOf(query), ...paced(effort) })))
  }

  /** Searches for words, as many as for vectors. */
  wordSearches(): Bodies {
    return plan(this.#words())
  }

  /** The same words and vectors, together. `more` are members of the request. */
  hybridSearches(effort: number, more: object = {}): Bodies {
    const words = this.#words()
    const { queries } = this.#source
    const both = queries.map((query, i) => ({ ...words[i], ...embeddingsOf(query) }))
    return plan(both.map((one) => ({ ...one, ...paced(effort), ...more })))
  }

  /** Documents with the vectors from a number on, under keys of their own. */
  inserts(of: InsertedVectors): Bodies {
    const bodies: string[] = []
    for (let from = 0; from < of.count; from += of.perBatch) {
      const length = Math.min(of.perBatch, of.count - from)
      const numbers = Array.from({ length }, (_, i) => (of.first + from + i) % this.#source.count)
      bodies.push(this.#insertsOf(numbers, `${of.name}-${from}`))
    }
    return { kind: 'bodies', path: batchPath(TABLE), bodies, repeats: false }
  }

  /** What each query of the suite finds. */
  async found(effort: number): Promise<Search> {
    const found = new Map<Float32Array, readonly number[]>()
    const url = `${this.origin}${tablePath(TABLE)}/query`
    for (const query of this.#source.queries) {
      const body = bodyOf({ ...embeddingsOf(query), ...paced(effort) })
      const { responses }: Answer = JSON.parse(await post(url, body))
      const hits = responses[0]?.hits.hits ?? []
      found.set(
        query,
        hits.map(({ _source }) => _source.n),
      )
    }
    return (query) => found.get(query) ?? []
  }

  #insertsOf(numbers: readonly number[], name: number | string): string {
    const inserts = numbers.map((n, i) => {
      const vector = base64(this.#source.vectorOf(n))
      const document = { n, ...this.#textsOf(n), _embeddings: { [INDEX]: vector } }
      return [`${name}-${i}`, document] as const
    })
    return JSON.stringify({ inserts: Object.fromEntries(inserts) })
  }

  #textsOf(n: number): object {
    if (this.#articles === undefined) return {}
    const { title, body } = this.#articles.articleAt(n)
    return { title, body }
  }

  /** Queries of one and two terms, and phrases, class after class in turn. */
  #words(): readonly object[] {
    const articles = must(this.#articles, 'texts')
    const { count, queries } = this.#source
    const { seed } = this.#bench
    const drawn = TOP_HITS_CLASSES.map((queryClass) =>
      drawQueries(articles, queryClass, { seed, documents: count, count: queries.length }),
    )
    return queries.map((_, i) => {
      const query = must(drawn[i % drawn.length]?.[i], 'a query of each class')
      const body: object = JSON.parse(buildRequestBody(query))
      return body
    })
  }

  #urlOf(index: string): string {
    return `${this.#server.origin}${tablePath(TABLE)}/indexes/${index}`
  }
}

/** Which vectors are written, and under which keys. */
interface InsertedVectors {
  readonly first: number
  readonly count: number
  readonly perBatch: number
  readonly name: string
}

interface Told {
  readonly status: { readonly total_indexed: number }
}

interface Answer {
  readonly responses: readonly {
    readonly hits: { readonly hits: readonly { readonly _source: { readonly n: number } }[] }
  }[]
}

function plan(queries: readonly object[]): Bodies {
  const bodies = queries.map(bodyOf)
  return { kind: 'bodies', path: `${tablePath(TABLE)}/query`, bodies, repeats: true }
}

function bodyOf(query: object): string {
  return JSON.stringify({ ...query, limit: LIMIT, fields: ['n'] })
}

function embeddingsOf(query: Float32Array): object {
  return { embeddings: { [INDEX]: base64(query) } }
}

function paced(effort: number): object {
  return { search_effort: effort }
}

function base64(vector: Float32Array): string {
  return Buffer.from(vector.buffer, vector.byteOffset, vector.byteLength).toString('base64')
}

async function post(url: string, body: string): Promise<string> {
  const headers = { 'content-type': 'application/json' }
  const answer = await fetch(url, { method: 'POST', headers, body })
  const text = await answer.text()
  if (!answer.ok) throw new Error(`POST ${url}: status ${answer.status}: ${text.slice(0, 500)}`)
  return text
}
