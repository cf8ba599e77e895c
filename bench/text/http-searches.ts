// Row `load`: searches over HTTP at growing numbers of clients.

import { latencyOf, perSecond } from '../documents/comparison.ts'
import type { QuarryServer } from '../documents/quarry-server.ts'
import type { Finding, LatencyFinding, RowResult } from '../report/finding.ts'
import type { LoadResult, Searches } from '../load/load-job.ts'
import { formatNumber } from '../report/report.ts'
import type { Bench } from '../suite.ts'
import { ARTICLES_TABLE } from './article-store.ts'
import type { ArticleStore } from './article-store.ts'
import { queryPath } from './article-table.ts'
import { eventLoopDelayP99Ms } from './event-loop-delay.ts'

const CLIENTS_WITH_GOAL = 64
const DELAY_GOAL = { kind: 'below', value: 20 } as const

export async function httpSearches(bench: Bench, store: ArticleStore): Promise<RowResult> {
  const server = await store.loaded()
  const label = `searches over HTTP among ${formatNumber(store.documents)}`
  bench.progress('load: warm-up')
  await search(bench, store, { server, clients: CLIENTS_WITH_GOAL, run: 0 })
  const findings: Finding[] = []
  const latencies: LatencyFinding[] = []
  for (const clients of bench.clients) {
    bench.progress(`load: ${clients} clients`)
    const results: LoadResult[] = []
    const delaysMs: number[] = []
    for (let run = 1; run <= bench.runs; run += 1) {
      await eventLoopDelayP99Ms(server) // forgets what was before
      results.push(await search(bench, store, { server, clients, run }))
      delaysMs.push(await eventLoopDelayP99Ms(server))
    }
    const at = `${clients} ${clients === 1 ? 'client' : 'clients'}`
    findings.push(
      { kind: 'value', label: `${label}, ${at}`, unit: '/s', ours: results.map(perSecond) },
      {
        kind: 'value',
        label: `delay of the event loop, p99, ${at}`,
        unit: 'ms',
        ours: delaysMs,
        ...(clients === CLIENTS_WITH_GOAL ? { goal: DELAY_GOAL } : {}),
      },
    )
    latencies.push(latencyOf(label, { side: 'quarry', clients, results }))
  }
  return { findings, latencies }
}

function search(
  { generator, quick, seed }: Bench,
  { documents }: ArticleStore,
  of: { readonly server: QuarryServer; readonly clients: number; readonly run: number },
): Promise<LoadResult> {
  const { server, clients, run } = of
  return generator.load({
    origin: server.origin,
    clients,
    plan: searchPlan({ documents, articlesSeed: seed, run }),
    until: { kind: 'time', warmupMs: quick ? 200 : 500, ms: quick ? 500 : 2000 },
  })
}

/** Another run asks other queries. */
export function searchPlan(of: {
  readonly documents: number
  readonly articlesSeed: number
  readonly run: number
}): Searches {
  const { documents, articlesSeed, run } = of
  const path = queryPath(ARTICLES_TABLE)
  const seed = articlesSeed * 1000 + run
  return { kind: 'searches', path, articlesSeed, documents, seed, requestsMax: undefined }
}
