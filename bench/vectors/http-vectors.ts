// Rows `http` and `hybrid`: searches for vectors through a server, alone and with words.

import { latencyOf, perSecond } from '../documents/comparison.ts'
import { startQuarry } from '../documents/quarry-server.ts'
import { buildArticleSource } from '../data/article-source.ts'
import type { Bodies, LoadResult } from '../load/load-job.ts'
import type { RowResult } from '../report/finding.ts'
import type { Bench } from '../suite.ts'
import { LIMIT, RECALL_MIN, ratesOf, type Search, type SearchJudge } from './search-judge.ts'
import { ServedVectors } from './served-vectors.ts'
import type { VectorSource } from './vector-source.ts'

const MANY_CLIENTS = 16
const TIMES = { warmupMs: 500, ms: 3000 } as const
const TIMES_QUICK = { warmupMs: 200, ms: 1000 } as const
const WARMUP_MS = 2000

/** What both rows work with. */
export interface HttpOptions {
  readonly bench: Bench
  readonly source: VectorSource
  readonly judge: SearchJudge
  readonly efforts: readonly number[]
  /** Bare usearch at the least width that finds as much. */
  readonly bare: Search
}

export async function httpVectors(options: HttpOptions): Promise<RowResult> {
  const { bench, source, judge, efforts, bare } = options
  await using server = await startQuarry(bench, 'vectors-http')
  bench.progress('http: writing')
  const served = await ServedVectors.load({ bench, source, server })
  await served.flushed()
  const effort = await leastEffort(served, judge, efforts)
  const one: LoadResult[] = []
  const many: LoadResult[] = []
  const bareMs: number[] = []
  await warmUp(bench, served, served.searches(effort))
  for (let run = 0; run < bench.runs; run += 1) {
    bench.progress(`http: run ${run + 1} of ${bench.runs}`)
    one.push(await search(bench, served, { clients: 1, plan: served.searches(effort) }))
    bareMs.push(judge.latency(bare))
    const plan = served.searches(effort)
    many.push(await search(bench, served, { clients: MANY_CLIENTS, plan }))
  }
  const label = `top ${LIMIT} at recall ≥ ${RECALL_MIN} over HTTP`
  return {
    findings: [
      {
        kind: 'ratio',
        label: `${label}, ${MANY_CLIENTS} clients`,
        unit: 'queries/s',
        peerName: 'usearch, one thread',
        ours: many.map(perSecond),
        peer: ratesOf(bareMs),
        goal: { kind: 'at-least', value: 0.5 },
      },
      {
        kind: 'value',
        label: `${label}, 1 client, p50`,
        unit: 'ms',
        ours: one.map(({ p50Ms }) => p50Ms),
      },
      {
        kind: 'value',
        label: `${label}, ${MANY_CLIENTS} clients, p99`,
        unit: 'ms',
        ours: many.map(({ p99Ms }) => p99Ms),
        goal: { kind: 'below', value: 20 },
      },
    ],
    latencies: [
      latencyOf(label, { side: 'quarry', clients: 1, results: one }),
      latencyOf(label, { side: 'quarry', clients: MANY_CLIENTS, results: many }),
    ],
    notes: [`over HTTP: effort ${effort}`],
  }
}

/** Words and vectors in one query, against either alone. */
export async function hybridVectors(options: HttpOptions): Promise<RowResult> {
  const { bench, source, judge, efforts } = options
  await using server = await startQuarry(bench, 'vectors-hybrid')
  bench.progress('hybrid: writing')
  const articles = buildArticleSource(bench.seed)
  const served = await ServedVectors.load({ bench, source, server, articles })
  await served.flushed()
  const effort = await leastEffort(served, judge, efforts)
  const plans = {
    words: served.wordSearches(),
    vectors: served.searches(effort),
    both: served.hybridSearches(effort),
  }
  const results: Record<keyof typeof plans, LoadResult[]> = { words: [], vectors: [], both: [] }
  for (const plan of Object.values(plans)) await warmUp(bench, served, plan)
  for (let run = 0; run < bench.runs; run += 1) {
    bench.progress(`hybrid: run ${run + 1} of ${bench.runs}`)
    for (const part of ['words', 'both', 'vectors'] as const) {
      results[part].push(await search(bench, served, { clients: 1, plan: plans[part] }))
    }
  }
  const { words, vectors, both } = results
  const label = 'words and a vector in one query, 1 client'
  return {
    findings: [
      {
        kind: 'ratio',
        label: `${label}, p50`,
        unit: 'ms',
        peerName: 'the slower part alone',
        ours: both.map(({ p50Ms }) => p50Ms),
        peer: words.map(({ p50Ms }, run) => Math.max(p50Ms, vectors[run]?.p50Ms ?? 0)),
        goal: { kind: 'at-most', value: 1.3 },
      },
    ],
    latencies: [
      latencyOf(label, { side: 'words', clients: 1, results: words }),
      latencyOf(label, { side: 'vector', clients: 1, results: vectors }),
      latencyOf(label, { side: 'both', clients: 1, results: both }),
    ],
    notes: [`hybrid: effort ${effort}`],
  }
}

export async function leastEffort(
  served: ServedVectors,
  judge: SearchJudge,
  efforts: readonly number[],
): Promise<number> {
  for (const effort of efforts) {
    if (judge.recall(await served.found(effort)) >= RECALL_MIN) return effort
  }
  return 1
}

export function timesOf({ quick }: Bench): typeof TIMES | typeof TIMES_QUICK {
  return quick ? TIMES_QUICK : TIMES
}

/** The compilers have seen the work of both sides then, as in a server that has run for a while. */
async function warmUp(bench: Bench, { origin }: ServedVectors, plan: Bodies): Promise<void> {
  const until = { kind: 'time', warmupMs: 0, ms: WARMUP_MS } as const
  await bench.generator.load({ origin, clients: MANY_CLIENTS, plan, until })
}

export function search(
  bench: Bench,
  { origin }: ServedVectors,
  { clients, plan }: { readonly clients: number; readonly plan: Bodies },
): Promise<LoadResult> {
  return bench.generator.load({ origin, clients, plan, until: { kind: 'time', ...timesOf(bench) } })
}
