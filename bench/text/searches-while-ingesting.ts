// Row `while-ingesting`: one client searches, alone and beside another that inserts as fast as it can.

import { latencyOf } from '../documents/comparison.ts'
import { SETTLE_TIMEOUT_MS, batchPath } from '../documents/quarry-server.ts'
import type { QuarryServer } from '../documents/quarry-server.ts'
import type { RowResult } from '../report/finding.ts'
import type { LoadEnd, LoadResult } from '../load/load-job.ts'
import { LoadGenerator } from '../load/load-generator.ts'
import { settle } from '../process-memory.ts'
import { formatNumber } from '../report/report.ts'
import { median } from '../report/statistics.ts'
import type { Bench } from '../suite.ts'
import { ARTICLES_TABLE } from './article-store.ts'
import type { ArticleStore } from './article-store.ts'
import { waitUntilSearchable } from './article-table.ts'
import { searchPlan } from './http-searches.ts'

const LABEL = 'searches, 1 client'
const DOCUMENTS_PER_BATCH = 1000
/** More than a run can insert. */
const DOCUMENTS_PER_RUN = 1_000_000
const TIMES = { warmupMs: 500, ms: 3000 } as const
const TIMES_QUICK = { warmupMs: 200, ms: 600 } as const
/** The inserts begin before the searches count and end after them. */
const MARGIN_MS = 500

export async function searchesWhileIngesting(
  bench: Bench,
  store: ArticleStore,
): Promise<RowResult> {
  const server = await store.loaded()
  await using inserter = new LoadGenerator()
  const quiet: LoadResult[] = []
  const busy: LoadResult[] = []
  const insertRates: number[] = []
  for (let run = 0; run < bench.runs; run += 1) {
    bench.progress(`while-ingesting: run ${run + 1} of ${bench.runs}`)
    quiet.push(await search(bench, store, { server, run: 2 * run }))
    const inserts = insert(bench, inserter, { server, run, firstDocument: store.documents })
    busy.push(await search(bench, store, { server, run: 2 * run + 1 }))
    const { requests, elapsedMs } = await inserts
    insertRates.push(((requests * DOCUMENTS_PER_BATCH) / elapsedMs) * 1000)
    await waitUntilSearchable(server, ARTICLES_TABLE)
    await settle(server.process.pid, bench.clock, SETTLE_TIMEOUT_MS)
  }
  const sides = { quiet: 'alone', busy: 'while ingesting' } as const
  return {
    findings: [
      {
        kind: 'ratio',
        label: `${LABEL}, p95 while another ingests`,
        unit: 'ms',
        peerName: sides.quiet,
        ours: busy.map(({ p95Ms }) => p95Ms),
        peer: quiet.map(({ p95Ms }) => p95Ms),
        goal: { kind: 'at-most', value: 2 },
      },
    ],
    latencies: [
      latencyOf(LABEL, { side: sides.quiet, clients: 1, results: quiet }),
      latencyOf(LABEL, { side: sides.busy, clients: 1, results: busy }),
    ],
    notes: [
      `${LABEL}: meanwhile the other client ingested ${formatNumber(median(insertRates))} docs/s`,
    ],
  }
}

function search(
  { generator, quick, seed }: Bench,
  { documents }: ArticleStore,
  { server, run }: { readonly server: QuarryServer; readonly run: number },
): Promise<LoadResult> {
  return generator.load({
    origin: server.origin,
    clients: 1,
    plan: searchPlan({ documents, articlesSeed: seed, run }),
    until: { kind: 'time', ...(quick ? TIMES_QUICK : TIMES) },
  })
}

function insert(
  { quick, seed }: Bench,
  inserter: LoadGenerator,
  of: { readonly server: QuarryServer; readonly run: number; readonly firstDocument: number },
): Promise<LoadResult> {
  const { server, run, firstDocument } = of
  const { warmupMs, ms } = quick ? TIMES_QUICK : TIMES
  const until: LoadEnd = { kind: 'time', warmupMs: 0, ms: warmupMs + ms + MARGIN_MS }
  return inserter.load({
    origin: server.origin,
    clients: 1,
    plan: {
      kind: 'insert-batches',
      path: batchPath(ARTICLES_TABLE),
      shape: 'article',
      seed,
      firstDocument: firstDocument + run * DOCUMENTS_PER_RUN,
      documents: DOCUMENTS_PER_RUN,
      documentsPerBatch: DOCUMENTS_PER_BATCH,
      keyOrder: 'ascending',
      prepared: false,
    },
    until,
  })
}
