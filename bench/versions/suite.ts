// Two checkouts of this repository beside each other: what users wait for, on the same documents and in turns.

import path from 'node:path'
import { buildArticleSource } from '../data/article-source.ts'
import { compare, perSecond } from '../documents/comparison.ts'
import { ingestInto } from '../documents/bulk-ingest.ts'
import { sendDocuments } from '../documents/load-table.ts'
import {
  SETTLE_TIMEOUT_MS,
  startCheckout,
  startQuarry,
  type QuarryServer,
} from '../documents/quarry-server.ts'
import type { Bodies, LoadResult } from '../load/load-job.ts'
import { settle } from '../process-memory.ts'
import type { Finding, RowResult } from '../report/finding.ts'
import { formatNumber } from '../report/report.ts'
import type { Bench, Suite, SuiteEntry } from '../suite.ts'
import { createArticleTable, waitUntilSearchable } from '../text/article-table.ts'
import { searchPlan } from '../text/http-searches.ts'
import { ingestArticles } from '../text/indexed-ingest.ts'
import { search } from '../vectors/http-vectors.ts'
import { ServedVectors } from '../vectors/served-vectors.ts'
import { buildVectorSource } from '../vectors/vector-source.ts'

const OTHER = 'the other checkout'
/** Nothing may get slower by more than the spread of such figures. */
const GOAL = { kind: 'at-least', value: 0.97 } as const
const DOCUMENTS = 100_000
const QUICK_SHARE = 5
const VECTORS_SHARE = 5
const QUERIES = 200
const EFFORT = 0.5
/** The default differs between versions. */
const WINDOW = { merge_config: { window_size: 50 } }

export const versionsSuite: SuiteEntry = {
  packages: [],
  takesDocuments: true,
  rowNames: ['ingest', 'indexed', 'searches', 'vectors'],
  build: (bench) => new VersionsSuite(bench),
}

interface Pair extends AsyncDisposable {
  readonly ours: QuarryServer
  readonly other: QuarryServer
}

/** Of one row, run by run. */
class Rates {
  readonly label: string
  readonly ours: number[] = []
  readonly other: number[] = []

  constructor(label: string) {
    this.label = label
  }

  get finding(): Finding {
    const { label, ours, other: peer } = this
    return { kind: 'ratio', label, unit: '/s', peerName: OTHER, ours, peer, goal: GOAL }
  }
}

/** What a server does in a second. */
type RateOf = (server: QuarryServer) => Promise<number>

class VersionsSuite implements Suite {
  readonly rows = {
    ingest: () => this.#ingest(),
    indexed: () => this.#indexed(),
    searches: () => this.#searches(),
    vectors: () => this.#vectors(),
  }
  readonly #bench: Bench
  readonly #documents: number

  constructor(bench: Bench) {
    this.#bench = bench
    this.#documents = bench.documents ?? DOCUMENTS / (bench.quick ? QUICK_SHARE : 1)
  }

  /** Batches into a table without an index. */
  #ingest(): Promise<RowResult> {
    const documents = this.#documents
    const label = `ingest of ${formatNumber(documents)} without an index`
    const ingest = { documents, keyOrder: 'ascending', clients: 4 } as const
    return this.#freshInTurns(label, (server) => ingestInto(this.#bench, server, ingest))
  }

  /** Batches into a table with its index of words, until the last document is found. */
  #indexed(): Promise<RowResult> {
    const label = `ingest of ${formatNumber(this.#documents)} with the index of words, until found`
    return this.#freshInTurns(label, (server) =>
      ingestArticles(this.#bench, server, this.#documents),
    )
  }

  async #searches(): Promise<RowResult> {
    await using pair = await this.#start('searches')
    for (const server of [pair.ours, pair.other]) await this.#loadArticles(server)
    const { seed } = this.#bench
    const documents = this.#documents
    const side = (name: string, { origin, process }: QuarryServer) => ({
      name,
      origin,
      pid: process.pid,
      nextPlan: (run: number) => searchPlan({ documents, articlesSeed: seed, run }),
    })
    return compare(this.#bench, {
      label: `searches for words among ${formatNumber(documents)}`,
      goals: new Map(this.#bench.clients.map((clients) => [clients, GOAL])),
      ours: side('ours', pair.ours),
      peer: side(OTHER, pair.other),
    })
  }

  /** Vectors are written and searched, alone and with words. */
  async #vectors(): Promise<RowResult> {
    const count = Math.ceil(this.#documents / VECTORS_SHARE)
    const source = buildVectorSource(this.#bench.seed, { count, queries: QUERIES })
    const articles = buildArticleSource(this.#bench.seed)
    await using pair = await this.#start('vectors')
    const bench = this.#bench
    const loaded = new Map<QuarryServer, ServedVectors>()
    for (const server of [pair.ours, pair.other]) {
      loaded.set(server, await ServedVectors.load({ bench, source, server, articles }))
    }
    for (const served of loaded.values()) await served.flushed()
    const plans: Readonly<Record<string, (served: ServedVectors) => Bodies>> = {
      'a vector': (served) => served.searches(EFFORT),
      words: (served) => served.wordSearches(),
      'a vector and words': (served) => served.hybridSearches(EFFORT, WINDOW),
    }
    const findings: Finding[] = []
    for (const [what, planOf] of Object.entries(plans)) {
      const label = `searches for ${what} among ${formatNumber(count)}, 1 client`
      findings.push(
        await this.#inTurns(pair, label, async (server) => {
          const served = loaded.get(server)
          if (served === undefined) throw new Error('a server without vectors')
          return perSecond(await this.#ask(served, planOf(served)))
        }),
      )
    }
    return { findings }
  }

  #ask(served: ServedVectors, plan: Bodies): Promise<LoadResult> {
    return search(this.#bench, served, { clients: 1, plan })
  }

  async #loadArticles(server: QuarryServer): Promise<void> {
    const bench = this.#bench
    await createArticleTable(server, 'articles')
    const load = { table: 'articles', shape: 'article', documents: this.#documents } as const
    await sendDocuments(bench, server, load)
    await waitUntilSearchable(server, 'articles')
    await settle(server.process.pid, bench.clock, SETTLE_TIMEOUT_MS)
  }

  /**
   * Each run has servers of its own: what maps of a million terms cost differs by a quarter from process to process,
   * by where their memory lies.
   */
  async #freshInTurns(label: string, rateOf: RateOf): Promise<RowResult> {
    const rates = new Rates(label)
    const { runs } = this.#bench
    for (let run = 1; run <= runs; run += 1) {
      await using pair = await this.#start(`run-${run}`)
      for (const server of [pair.ours, pair.other]) await rateOf(server)
      await this.#turn(pair, { rates, run, rateOf })
    }
    return { findings: [rates.finding] }
  }

  async #inTurns(pair: Pair, label: string, rateOf: RateOf): Promise<Finding> {
    const rates = new Rates(label)
    const { runs } = this.#bench
    for (const server of [pair.ours, pair.other]) await rateOf(server)
    for (let run = 1; run <= runs; run += 1) await this.#turn(pair, { rates, run, rateOf })
    return rates.finding
  }

  /** Which comes first changes from run to run, since the second of a pair finds a warmer machine. */
  async #turn(
    { ours, other }: Pair,
    { rates, run, rateOf }: { rates: Rates; run: number; rateOf: RateOf },
  ): Promise<void> {
    this.#bench.progress(`${rates.label}: run ${run} of ${this.#bench.runs}`)
    const measureOurs = async (): Promise<void> => void rates.ours.push(await rateOf(ours))
    const measureOther = async (): Promise<void> => void rates.other.push(await rateOf(other))
    const turns = [measureOurs, measureOther]
    for (const measure of run % 2 === 0 ? turns : turns.toReversed()) await measure()
  }

  async #start(name: string): Promise<Pair> {
    const { against } = this.#bench
    if (against === undefined) throw new Error('name the other checkout: --against <dir>')
    const checkout = path.resolve(against)
    await using started = new AsyncDisposableStack()
    const ours = started.use(await startQuarry(this.#bench, name))
    const other = started.use(await startCheckout(this.#bench, { checkout, name: `${name}-other` }))
    const kept = started.move()
    return { ours, other, [Symbol.asyncDispose]: () => kept.disposeAsync() }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    // Every row ends its own servers.
  }
}
