// A server with one table of articles, loaded over HTTP once and used by several rows.

import { assert } from '../../lib/assert.ts'
import { sendDocuments } from '../documents/load-table.ts'
import { SETTLE_TIMEOUT_MS, call, startQuarry } from '../documents/quarry-server.ts'
import type { QuarryServer, ServerSettings } from '../documents/quarry-server.ts'
import { settle } from '../process-memory.ts'
import { formatNumber } from '../report/report.ts'
import type { Bench } from '../suite.ts'
import { createArticleTable, queryPath, waitUntilSearchable } from './article-table.ts'

const DOCUMENTS = 1_000_000
const DOCUMENTS_QUICK = 20_000
export const ARTICLES_DIRECTORY = 'articles'
export const ARTICLES_TABLE = 'articles'

export class ArticleStore implements AsyncDisposable {
  readonly documents: number
  readonly #bench: Bench
  #isOnDisk = false
  #loaded: Promise<QuarryServer> | undefined

  constructor(bench: Bench) {
    this.#bench = bench
    this.documents = bench.documents ?? (bench.quick ? DOCUMENTS_QUICK : DOCUMENTS)
  }

  /** The server, at rest; loads it first if no row has needed it yet. */
  loaded(): Promise<QuarryServer> {
    this.#loaded ??= this.#isOnDisk ? startQuarry(this.#bench, ARTICLES_DIRECTORY) : this.#load()
    return this.#loaded
  }

  /** Ends the server in order, so that all of it is on disk. Loads it first if need be. */
  async stop(): Promise<void> {
    const server = await this.loaded()
    await server[Symbol.asyncDispose]()
    this.#isOnDisk = true
    this.#loaded = undefined
  }

  /** Stops the server, and serves the same articles with other settings until the next stop. */
  async restart(settings: ServerSettings): Promise<QuarryServer> {
    await this.stop()
    this.#loaded = startQuarry(this.#bench, ARTICLES_DIRECTORY, settings)
    return await this.#loaded
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#loaded === undefined) return
    const server = await this.#loaded.catch(() => undefined) // the row has reported it
    await server?.[Symbol.asyncDispose]()
  }

  async #load(): Promise<QuarryServer> {
    const bench = this.#bench
    bench.progress(`loading ${formatNumber(this.documents)} articles over HTTP`)
    const server = await startQuarry(bench, ARTICLES_DIRECTORY)
    try {
      await this.#fill(server)
    } catch (error) {
      await server[Symbol.asyncDispose]()
      throw error
    }
    return server
  }

  async #fill(server: QuarryServer): Promise<void> {
    const bench = this.#bench
    await createArticleTable(server, ARTICLES_TABLE)
    const load = { table: ARTICLES_TABLE, shape: 'article', documents: this.documents } as const
    await sendDocuments(bench, server, load)
    await waitUntilSearchable(server, ARTICLES_TABLE)
    await settle(server.process.pid, bench.clock, SETTLE_TIMEOUT_MS)
    await this.#checkTotal(server)
  }

  async #checkTotal({ origin }: QuarryServer): Promise<void> {
    const url = `${origin}${queryPath(ARTICLES_TABLE)}`
    const query = { full_text_search: { min: 0, field: 'price' }, count: true }
    const answer = JSON.parse(await call(url, 'POST', query))
    const found = Number(answer.responses[0].hits.total)
    assert(found === this.documents, `the index finds ${found} of ${this.documents} articles`)
  }
}
