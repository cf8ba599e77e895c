// Row `http`: searches for vectors through a server.

import { latencyOf, perSecond } from '../documents/comparison.ts'
import { startQuarry } from '../documents/quarry-server.ts'
import type { LoadResult } from '../load/load-job.ts'
import type { RowResult } from '../report/finding.ts'
import type { Bench } from '../suite.ts'
import { LIMIT, RECALL_MIN, ratesOf, type Search, type SearchJudge } from './search-judge.ts'
import { ServedVectors } from './served-vectors.ts'
import type { VectorSource } from './vector-source.ts'

const MANY_CLIENTS = 16
const TIMES = { warmupMs: 500, ms: 3000 } as const
const TIMES_QUICK = { warmupMs: 200, ms: 1000 } as const
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
  const served = await ServedVectors.load(bench, source, server)
  const effort = await leastEffort(served, judge, efforts)
  const one: LoadResult[] = []
  const many: LoadResult[] = []
  const bareMs: number[] = []
  for (let run = 0; run < bench.runs; run += 1) {
    bench.progress(`http: run ${run + 1} of ${bench.runs}`)
    one.push(await search(bench, served, { clients: 1, effort }))
    bareMs.push(judge.latency(bare))
    many.push(await search(bench, served, { clients: MANY_CLIENTS, effort }))
  }
  const label = `top ${LIMIT} at recall ≥ ${RECALL_MIN} over HTTP`
  return {
    findings: [
      {
        kind: 'ratio',
        label: `${label}, 1 client`,
        unit: 'queries/s',
        peerName: 'usearch, in process',
        ours: one.map(perSecond),
        peer: ratesOf(bareMs),
        goal: { kind: 'at-least', value: 0.5 },
      },
      {
        kind: 'value',
        label: `${label}, ${MANY_CLIENTS} clients`,
        unit: 'queries/s',
        ours: many.map(perSecond),
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

export function search(
  bench: Bench,
  served: ServedVectors,
  { clients, effort }: { readonly clients: number; readonly effort: number },
): Promise<LoadResult> {
  const until = { kind: 'time', ...timesOf(bench) } as const
  return bench.generator.load({
    origin: served.origin,
    clients,
    plan: served.searches(effort),
    until,
  })
}
