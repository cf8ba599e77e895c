// Row `ingest`: batches of 1000 over HTTP into a new table, until the last document is found.

import { mkdir, rm } from 'node:fs/promises'
import path from 'node:path'
import { ReadyProcess } from '../child-process.ts'
import { dropTable, startQuarry } from '../documents/quarry-server.ts'
import type { QuarryServer } from '../documents/quarry-server.ts'
import type { RowResult } from '../report/finding.ts'
import { formatNumber } from '../report/report.ts'
import type { Bench } from '../suite.ts'
import { createArticleTable, waitUntilSearchable } from './article-table.ts'
import { articlesUntilFound, INGEST_TABLE, type IngestSize } from './articles-until-found.ts'

const FTS5_SCRIPT = path.resolve(import.meta.dirname, '../peers/fts5-inserts.ts')
const DOCUMENTS = 100_000
const DOCUMENTS_QUICK = 20_000
export const INGEST_CLIENTS = 4
const WARMUP_DOCUMENTS = 10_000

export async function indexedIngest(bench: Bench): Promise<RowResult> {
  const documents = bench.documents ?? (bench.quick ? DOCUMENTS_QUICK : DOCUMENTS)
  await using server = await startQuarry(bench, 'ingest')
  await ingestArticles(bench, server, { documents: WARMUP_DOCUMENTS, clients: INGEST_CLIENTS })
  const ours: number[] = []
  const peer: number[] = []
  for (let run = 0; run < bench.runs; run += 1) {
    bench.progress(`ingest with the index: run ${run + 1} of ${bench.runs}`)
    ours.push(await ingestArticles(bench, server, { documents, clients: INGEST_CLIENTS }))
    peer.push(await ingestPeer(bench, documents))
  }
  const label =
    `ingest of ${formatNumber(documents)} with the full-text index, batches of 1000, ` +
    `${INGEST_CLIENTS} clients, until found`
  return {
    findings: [
      {
        kind: 'ratio',
        label,
        unit: 'docs/s',
        peerName: 'FTS5 in process',
        ours,
        peer,
        goal: { kind: 'at-least', value: 0.3 },
      },
    ],
  }
}

/** Documents per second into a new table until all are found. The table is dropped afterwards. */
export async function ingestArticles(
  bench: Bench,
  server: QuarryServer,
  size: IngestSize,
): Promise<number> {
  await createArticleTable(server, INGEST_TABLE)
  const target = {
    origin: server.origin,
    pid: server.process.pid,
    waitUntilFound: () => waitUntilSearchable(server, INGEST_TABLE),
    clear: () => dropTable(server, INGEST_TABLE),
  }
  return articlesUntilFound(bench, target, size)
}

async function ingestPeer(bench: Bench, documents: number): Promise<number> {
  const folder = path.join(bench.directory, 'ingest-peer')
  await mkdir(folder)
  const args = [FTS5_SCRIPT, folder, String(documents), String(bench.seed)]
  const [peer, answer] = await ReadyProcess.start({ name: 'FTS5', args })
  await peer.finished()
  await rm(folder, { recursive: true })
  return (documents / Number(answer['elapsedMs'])) * 1000
}
