import { mkdir, rm } from 'node:fs/promises'
import path from 'node:path'
import { ReadyProcess } from '../child-process.ts'
import type { RatioFinding, RowResult } from '../report/finding.ts'
import type { KeyOrder } from '../load/load-job.ts'
import { settle } from '../process-memory.ts'
import { median } from '../report/statistics.ts'
import type { Bench } from '../suite.ts'
import { SETTLE_TIMEOUT_MS, batchPath, createTable, dropTable } from './quarry-server.ts'
import { startQuarry } from './quarry-server.ts'
import type { QuarryServer } from './quarry-server.ts'

const LEVEL_SCRIPT = path.resolve(import.meta.dirname, '../peers/level-batches.ts')
const DOCUMENTS_PER_BATCH = 1000
const WARMUP_DOCUMENTS = 20_000
const CLIENT_CHOICES = [1, 4]
const GOAL = { kind: 'at-least', value: 0.5 } as const

interface Ingest {
  readonly documents: number
  readonly keyOrder: KeyOrder
}

export async function bulkIngest(bench: Bench): Promise<RowResult> {
  await using server = await startQuarry(bench, 'ingest')
  await ingestInto(bench, server, {
    documents: WARMUP_DOCUMENTS,
    keyOrder: 'ascending',
    clients: 4,
  })
  const documents = bench.quick ? 50_000 : 200_000
  const ascending = await ingestInTurns(bench, server, { documents, keyOrder: 'ascending' })
  const scattered = await ingestInTurns(bench, server, { documents, keyOrder: 'scattered' })
  return { findings: [ascending, scattered] }
}

/** Our server with the number of clients that has the better median. */
async function ingestInTurns(
  bench: Bench,
  server: QuarryServer,
  ingest: Ingest,
): Promise<RatioFinding> {
  const ours = CLIENT_CHOICES.map((clients) => ({ clients, rates: [] as number[] }))
  const peer: number[] = []
  for (let run = 0; run < bench.runs; run += 1) {
    bench.progress(`bulk ingest: keys ${ingest.keyOrder}, run ${run + 1} of ${bench.runs}`)
    for (const { clients, rates } of ours) {
      rates.push(await ingestInto(bench, server, { ...ingest, clients }))
    }
    peer.push(await ingestPeer(bench, ingest))
  }
  const [best] = ours.toSorted((a, b) => median(b.rates) - median(a.rates))
  const clients = best?.clients === 1 ? '1 client' : `${best?.clients} clients`
  return {
    kind: 'ratio',
    label: `bulk ingest, batches of 1000, keys ${ingest.keyOrder}, ${clients}`,
    unit: 'docs/s',
    peerName: 'classic-level',
    ours: best?.rates ?? [],
    peer,
    goal: GOAL,
  }
}

/** Documents per second into a new table, which is dropped afterwards. */
export async function ingestInto(
  { generator, clock, seed }: Bench,
  server: QuarryServer,
  { documents, keyOrder, clients }: Ingest & { readonly clients: number },
): Promise<number> {
  await createTable(server, 'ingest')
  const { elapsedMs } = await generator.load({
    origin: server.origin,
    clients,
    plan: {
      kind: 'insert-batches',
      path: batchPath('ingest'),
      shape: 'kilobyte',
      seed,
      firstDocument: 0,
      documents,
      documentsPerBatch: DOCUMENTS_PER_BATCH,
      keyOrder,
      prepared: true,
    },
    until: { kind: 'end-of-plan' },
  })
  await dropTable(server, 'ingest')
  await settle(server.process.pid, clock, SETTLE_TIMEOUT_MS)
  return (documents / elapsedMs) * 1000
}

async function ingestPeer(bench: Bench, { documents, keyOrder }: Ingest): Promise<number> {
  const folder = path.join(bench.directory, 'ingest-peer')
  await mkdir(folder)
  const numbers = [documents, DOCUMENTS_PER_BATCH, bench.seed].map(String)
  const args = [LEVEL_SCRIPT, folder, ...numbers, keyOrder]
  const [peer, answer] = await ReadyProcess.start({ name: 'classic-level', args })
  await peer.finished()
  await rm(folder, { recursive: true })
  return (documents / Number(answer['elapsedMs'])) * 1000
}
