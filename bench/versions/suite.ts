// What users wait for, by two checkouts of this repository: on the same documents, over HTTP, and in turns.

import { must } from '../../lib/assert.ts'
import { buildArticleSource } from '../data/article-source.ts'
import { ingestInto } from '../documents/bulk-ingest.ts'
import { perSecond } from '../documents/comparison.ts'
import { loadTable, sendDocuments } from '../documents/load-table.ts'
import {
  batchPath,
  createTable,
  lookupPath,
  SETTLE_TIMEOUT_MS,
  type QuarryServer,
} from '../documents/quarry-server.ts'
import type { RequestPlan } from '../load/load-job.ts'
import { settle } from '../process-memory.ts'
import type { RowResult } from '../report/finding.ts'
import { formatNumber } from '../report/report.ts'
import type { Bench, Suite, SuiteEntry } from '../suite.ts'
import { createArticleTable, waitUntilSearchable } from '../text/article-table.ts'
import { ARTICLES_TABLE } from '../text/article-store.ts'
import { searchPlan } from '../text/http-searches.ts'
import { ingestArticles, INGEST_CLIENTS } from '../text/indexed-ingest.ts'
import { ServedVectors } from '../vectors/served-vectors.ts'
import { buildVectorSource } from '../vectors/vector-source.ts'
import { startPair, Turns, type Done } from './pair.ts'

const DOCUMENTS = 100_000
const QUICK_SHARE = 5
const VECTORS_SHARE = 5
const QUERIES = 200
const EFFORT = 0.5
/** The default differs between versions. */
const WINDOW = { merge_config: { window_size: 50 } }
const TIMES = { kind: 'time', warmupMs: 200, ms: 2000 } as const
const TABLE = 'documents'
/** More than a turn can write, so that two never share a key. */
const KEYS_PER_TURN = 1_000_000

export const versionsSuite: SuiteEntry = {
  packages: [],
  takesDocuments: true,
  rowNames: ['writes', 'lookups', 'ingest', 'indexed', 'searches', 'vectors'],
  build: (bench) => new VersionsSuite(bench),
}

/** The requests of a turn to a server. Both servers get the same ones. */
type PlanOf = (server: QuarryServer, turn: number) => RequestPlan

/** What is in a server before it is measured. */
type Fill = (server: QuarryServer) => Promise<void>

class VersionsSuite implements Suite {
  readonly rows = {
    writes: () => this.#writes(),
    lookups: () => this.#lookups(),
    ingest: () => this.#ingest(),
    indexed: () => this.#indexed(),
    searches: () => this.#searches(),
    vectors: () => this.#vectors(),
  }
  readonly #bench: Bench
  readonly #documents: number
  #pairs = 0

  constructor(bench: Bench) {
    this.#bench = bench
    this.#documents = bench.documents ?? DOCUMENTS / (bench.quick ? QUICK_SHARE : 1)
  }

  #writes(): Promise<RowResult> {
    const { seed } = this.#bench
    const plan: PlanOf = (_server, turn) => ({
      kind: 'insert-each',
      target: { kind: 'batch', path: batchPath(TABLE) },
      seed,
      firstDocument: turn * KEYS_PER_TURN,
    })
    const works = this.#loads('durable writes of a document', plan)
    return this.#inTurns(works, (server) => createTable(server, TABLE))
  }

  #lookups(): Promise<RowResult> {
    const documents = this.#documents
    const path = lookupPath(TABLE)
    const plan: PlanOf = (_server, seed) => ({ kind: 'lookups', seed, documents, path })
    return this.#inTurns(this.#loads('key lookups', plan), async (server) => {
      await createTable(server, TABLE)
      await loadTable(this.#bench, server, { table: TABLE, shape: 'kilobyte', documents })
    })
  }

  /** Batches into a table without an index. */
  #ingest(): Promise<RowResult> {
    const count = this.#documents
    const ingest = { documents: count, keyOrder: 'ascending', clients: 4 } as const
    const rate = (server: QuarryServer) => ingestInto(this.#bench, server, ingest)
    return this.#inTurns([this.#ingestAs('without an index', rate)])
  }

  /** Batches into a table with its index of words, until the last document is found. */
  #indexed(): Promise<RowResult> {
    const rate = (server: QuarryServer) =>
      ingestArticles(this.#bench, server, { documents: this.#documents, clients: INGEST_CLIENTS })
    return this.#inTurns([this.#ingestAs('with the index of words, until found', rate)])
  }

  #searches(): Promise<RowResult> {
    const documents = this.#documents
    const articlesSeed = this.#bench.seed
    const works = this.#loads(
      `searches for words among ${formatNumber(documents)}`,
      (_server, run) => searchPlan({ documents, articlesSeed, run }),
    )
    return this.#inTurns(works, (server) => this.#loadArticles(server))
  }

  async #loadArticles(server: QuarryServer): Promise<void> {
    const bench = this.#bench
    await createArticleTable(server, ARTICLES_TABLE)
    const load = { table: ARTICLES_TABLE, shape: 'article', documents: this.#documents } as const
    await sendDocuments(bench, server, load)
    await waitUntilSearchable(server, ARTICLES_TABLE)
    await settle(server.process.pid, bench.clock, SETTLE_TIMEOUT_MS)
  }

  /** Searches for vectors, alone and with words. */
  #vectors(): Promise<RowResult> {
    const bench = this.#bench
    const count = Math.ceil(this.#documents / VECTORS_SHARE)
    const source = buildVectorSource(bench.seed, { count, queries: QUERIES })
    const articles = buildArticleSource(bench.seed)
    const loaded = new WeakMap<QuarryServer, ServedVectors>()
    const servedBy = (server: QuarryServer) => must(loaded.get(server), 'vectors of the server')
    const among = `among ${formatNumber(count)}`
    const works = [
      ...this.#loads(`searches for a vector ${among}`, (server) =>
        servedBy(server).searches(EFFORT),
      ),
      ...this.#loads(`searches for a vector and words ${among}`, (server) =>
        servedBy(server).hybridSearches(EFFORT, WINDOW),
      ),
    ]
    return this.#inTurns(works, async (server) => {
      const served = await ServedVectors.load({ bench, source, server, articles })
      loaded.set(server, served)
      await served.flushed()
    })
  }

  #ingestAs(how: string, rate: (server: QuarryServer) => Promise<number>): Turns {
    const count = this.#documents
    const label = `ingest of ${formatNumber(count)} ${how}`
    return new Turns(this.#bench, label, async (server) => ({
      count,
      perSecond: await rate(server),
    }))
  }

  /** At each number of clients, the greatest first: it gives the compilers of a new server most to see. */
  #loads(label: string, planOf: PlanOf): readonly Turns[] {
    const { generator, clients: all } = this.#bench
    const descending = all.toSorted((a, b) => b - a)
    return descending.map((clients) => {
      const at = `${label}, ${clients} ${clients === 1 ? 'client' : 'clients'}`
      return new Turns(this.#bench, at, async (server, turn): Promise<Done> => {
        const plan = planOf(server, turn)
        const result = await generator.load({ origin: server.origin, clients, plan, until: TIMES })
        return { count: result.answered, perSecond: perSecond(result) }
      })
    })
  }

  /**
   * Each run has servers of its own: what maps of a million terms cost differs by a quarter from process to process,
   * by where their memory lies.
   */
  async #inTurns(works: readonly Turns[], fill?: Fill): Promise<RowResult> {
    for (let run = 1; run <= this.#bench.runs; run += 1) {
      await using pair = await startPair(this.#bench, `pair-${(this.#pairs += 1)}`)
      // At once: each fill ends with a wait.
      if (fill !== undefined) await Promise.all([pair.ours, pair.other].map(fill))
      for (const turns of works) await turns.take(pair, run)
    }
    return { findings: works.flatMap(({ findings }) => findings) }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    // Every row ends its own servers.
  }
}
