// The vectors of the suite in a table of a server, as users run it.

import {
  batchPath,
  call,
  createTable,
  SETTLE_TIMEOUT_MS,
  tablePath,
} from '../documents/quarry-server.ts'
import type { QuarryServer } from '../documents/quarry-server.ts'
import type { Bodies } from '../load/load-job.ts'
import { settle } from '../process-memory.ts'
import type { Bench } from '../suite.ts'
import { LIMIT, type Search } from './search-judge.ts'
import { DIMENSION, type VectorSource } from './vector-source.ts'

const TABLE = 'vectors'
const INDEX = 'nearest'
export const DOCUMENTS_PER_BATCH = 250
const POLL_MS = 50

export class ServedVectors {
  readonly #bench: Bench
  readonly #source: VectorSource
  readonly #server: QuarryServer

  private constructor(bench: Bench, source: VectorSource, server: QuarryServer) {
    this.#bench = bench
    this.#source = source
    this.#server = server
  }

  /** A table of one shard with all vectors, when they are searched by their graphs. */
  static async load(
    bench: Bench,
    source: VectorSource,
    server: QuarryServer,
  ): Promise<ServedVectors> {
    const served = new ServedVectors(bench, source, server)
    await createTable(server, TABLE, { num_shards: 1 })
    await call(served.#indexUrl, 'POST', {
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
    await settle(this.#server.process.pid, this.#bench.clock, SETTLE_TIMEOUT_MS)
  }

  /** When so many documents are found. */
  async indexed(count: number): Promise<void> {
    const { clock } = this.#bench
    for (;;) {
      const { status }: Told = JSON.parse(await call(this.#indexUrl, 'GET'))
      if (status.total_indexed >= count) return
      await clock.sleep(POLL_MS)
    }
  }

  /** One request of `inserts`. */
  async write(path: string, body: string): Promise<void> {
    await post(`${this.origin}${path}`, body)
  }

  /** The suite's queries, again and again. */
  searches(effort: number): Bodies {
    const bodies = this.#source.queries.map((query) => bodyOf(query, effort))
    return { kind: 'bodies', path: `${tablePath(TABLE)}/query`, bodies, repeats: true }
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
      const { responses }: Answer = JSON.parse(await post(url, bodyOf(query, effort)))
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
      return [`${name}-${i}`, { n, _embeddings: { [INDEX]: vector } }] as const
    })
    return JSON.stringify({ inserts: Object.fromEntries(inserts) })
  }

  get #indexUrl(): string {
    return `${this.#server.origin}${tablePath(TABLE)}/indexes/${INDEX}`
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

function bodyOf(query: Float32Array, effort: number): string {
  const embeddings = { [INDEX]: base64(query) }
  return JSON.stringify({ embeddings, limit: LIMIT, search_effort: effort, fields: ['n'] })
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
