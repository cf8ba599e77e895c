// The peer of bulk ingest: classic-level alone, in its own process, with the same documents in the
// same batches, each batch synced. Prints how long it took, without the time to build the documents.
//
//   node bench/peers/level-batches.ts <directory> <documents> <documents per batch> <seed> <order>

import path from 'node:path'
import { ClassicLevel } from 'classic-level'
import { must } from '../../lib/assert.ts'
import { systemClock } from '../../lib/clock.ts'
import { buildDocumentSource, documentKey, scatter } from '../data/document-source.ts'

const WARMUP_DOCUMENTS = 20_000

interface Put {
  readonly type: 'put'
  readonly key: string
  readonly value: Buffer
}

const [, , directory, documents, documentsPerBatch, seed, order] = process.argv
const batchSize = Number(documentsPerBatch)
const folder = must(directory, 'directory')

await ingest('warm-up', buildBatches(WARMUP_DOCUMENTS))
const elapsedMs = await ingest('measured', buildBatches(Number(documents)))
process.stdout.write(`${JSON.stringify({ elapsedMs })}\n`)

function buildBatches(count: number): readonly Put[][] {
  const source = buildDocumentSource('kilobyte', Number(seed))
  const batches: Put[][] = []
  for (let sent = 0; sent < count; sent += 1) {
    if (sent % batchSize === 0) batches.push([])
    const index = order === 'scattered' ? scatter(sent, count) : sent
    const value = Buffer.from(source.documentAt(index), 'latin1')
    must(batches.at(-1), 'batch').push({ type: 'put', key: documentKey(index), value })
  }
  return batches
}

async function ingest(name: string, batches: readonly Put[][]): Promise<number> {
  const db = new ClassicLevel<string, Buffer>(path.join(folder, name), { valueEncoding: 'buffer' })
  await db.open()
  const startMs = systemClock.monotonicMs()
  for (const batch of batches) await db.batch(batch, { sync: true })
  const elapsed = systemClock.monotonicMs() - startMs
  await db.close()
  return elapsed
}
