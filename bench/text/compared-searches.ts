// Row `search`: the query set on our engine and its peers, each in a process of its own, in turns.

import path from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import { must } from '../../lib/assert.ts'
import type { RowResult } from '../report/finding.ts'
import { formatNumber } from '../report/report.ts'
import type { Bench } from '../suite.ts'
import { buildArticleSource } from '../data/article-source.ts'
import { EngineClient } from './engine-client.ts'
import type { MeasurementBounds } from './engine-job.ts'
import { drawQueries, QUERY_CLASSES } from '../data/query-classes.ts'
import type { QueryClass, TextQuery } from '../data/query-classes.ts'
import { findingsOf } from './search-findings.ts'
import type { ClassTimes } from './search-findings.ts'
import { ENGINES } from '../peers/text-engine.ts'
import type { EngineName } from '../peers/text-engine.ts'

const DOCUMENTS = 1_000_000
const DOCUMENTS_QUICK = 20_000
const QUERIES = 100
const QUERIES_QUICK = 20
const CHECKED_QUERIES = 2
const WARMUP: MeasurementBounds = { budgetMs: 300, queriesMin: 1 }
const WARMUP_QUICK: MeasurementBounds = { budgetMs: 30, queriesMin: 1 }
/** The bounds of a peer in one class and round. Our engine answers every query. */
const PEER_BOUNDS: MeasurementBounds = { budgetMs: 400, queriesMin: 2 }
/** The check and the warm-up have queries of their own. */
const SEEDS = { check: 0, warmup: 1, firstRound: 2 } as const
const SEEDS_PER_RUN = 1000

type Draw = (queryClass: QueryClass, seed: number, count: number) => readonly TextQuery[]

export async function comparedSearches(bench: Bench): Promise<RowResult> {
  const documents = bench.documents ?? (bench.quick ? DOCUMENTS_QUICK : DOCUMENTS)
  const articles = buildArticleSource(bench.seed)
  const draw: Draw = (queryClass, seed, count) =>
    drawQueries(articles, queryClass, {
      seed: bench.seed * SEEDS_PER_RUN + seed,
      documents,
      count,
    })
  await using started = new AsyncDisposableStack()
  const engines = await startEngines(bench, started, documents)
  await checkAnswers(bench, engines, draw)
  const count = bench.quick ? QUERIES_QUICK : QUERIES
  const warmup = bench.quick ? WARMUP_QUICK : WARMUP
  bench.progress('search: warm-up')
  for (const queryClass of QUERY_CLASSES) {
    const queries = draw(queryClass, SEEDS.warmup, count)
    for (const engine of engines) await engine.measure({ queries, bounds: warmup })
  }
  const times: ClassTimes[] = QUERY_CLASSES.map((queryClass) => {
    return { queryClass, rounds: { quarry: [], FTS5: [], MiniSearch: [] } }
  })
  for (let round = 0; round < bench.runs; round += 1) {
    bench.progress(`search: round ${round + 1} of ${bench.runs}`)
    for (const { queryClass, rounds } of times) {
      const queries = draw(queryClass, SEEDS.firstRound + round, count)
      for (const engine of engines) {
        const bounds = engine.name === 'quarry' ? undefined : PEER_BOUNDS
        rounds[engine.name].push(await engine.measure({ queries, bounds }))
      }
    }
  }
  const { findings, latencies, notes } = findingsOf(times, { documents, queriesPerRound: count })
  const loads = engines.map(({ name, loadMs }) => `${name} ${formatNumber(loadMs / 1000)} s`)
  const loaded = `search: loaded ${formatNumber(documents)} documents side by side: ${loads.join(', ')}`
  return { findings, latencies, notes: [loaded, ...notes] }
}

/** They load side by side, which no figure depends on. */
async function startEngines(
  bench: Bench,
  started: AsyncDisposableStack,
  documents: number,
): Promise<readonly EngineClient[]> {
  bench.progress(`search: loading ${formatNumber(documents)} documents into ${ENGINES.join(', ')}`)
  const starting = ENGINES.map(async (engine) => {
    const client = await startEngine(bench, { engine, documents, name: `search-${engine}` })
    return started.use(client)
  })
  return await Promise.all(starting)
}

export function startEngine(
  { directory, seed, profileDirectory }: Bench,
  of: { readonly engine: EngineName; readonly documents: number; readonly name: string },
): Promise<EngineClient> {
  const { engine, documents, name } = of
  const isProfiled = engine === 'quarry' && profileDirectory !== undefined
  return EngineClient.start({
    engine,
    directory: path.join(directory, name),
    documents,
    seed,
    profileDirectory: isProfiled ? path.join(profileDirectory, name) : undefined,
  })
}

/** Engines with different answers cannot be compared. */
async function checkAnswers(
  bench: Bench,
  engines: readonly EngineClient[],
  draw: Draw,
): Promise<void> {
  bench.progress('search: comparing the answers of the engines')
  for (const queryClass of QUERY_CLASSES) {
    const queries = draw(queryClass, SEEDS.check, CHECKED_QUERIES)
    const answers = await Promise.all(engines.map((engine) => engine.answers(queries)))
    for (const [i, query] of queries.entries()) {
      const [ours, ...others] = answers.map((all) => must(all[i], 'answer'))
      if (others.every((other) => isDeepStrictEqual(ours, other))) continue
      const all = engines.map(({ name }, at) => `${name} ${JSON.stringify(answers[at]?.[i])}`)
      throw new Error(`the answers to ${JSON.stringify(query)} differ: ${all.join(', ')}`)
    }
  }
}
