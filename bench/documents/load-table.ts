import { settle } from '../process-memory.ts'
import type { LoadResult } from '../load/load-job.ts'
import type { Bench } from '../suite.ts'
import type { DocumentShape } from '../data/document-source.ts'
import { SETTLE_TIMEOUT_MS, batchPath } from './quarry-server.ts'

const CLIENTS = 4
const DOCUMENTS_PER_BATCH: Record<DocumentShape, number> = {
  kilobyte: 1000,
  small: 5000,
  article: 1000,
}

/** A server of ours, and the process that works on what it gets. */
export interface LoadedServer {
  readonly origin: string
  readonly process: { readonly pid: number }
}

/** The documents to load into a table. */
export interface TableLoad {
  readonly table: string
  readonly shape: DocumentShape
  readonly documents: number
}

/** Fills a table over HTTP and waits until the server is idle. */
export async function loadTable(
  bench: Bench,
  server: LoadedServer,
  load: TableLoad,
): Promise<LoadResult> {
  const result = await sendDocuments(bench, server, load)
  await settle(server.process.pid, bench.clock, SETTLE_TIMEOUT_MS)
  return result
}

/** Fills a table over HTTP. Documents and keys are those of document-source.ts, from 0 on. */
export function sendDocuments(
  { generator, seed }: Bench,
  { origin }: Pick<LoadedServer, 'origin'>,
  { table, shape, documents }: TableLoad,
): Promise<LoadResult> {
  return generator.load({
    origin,
    clients: CLIENTS,
    plan: {
      kind: 'insert-batches',
      path: batchPath(table),
      shape,
      seed,
      firstDocument: 0,
      documents,
      documentsPerBatch: DOCUMENTS_PER_BATCH[shape],
      keyOrder: 'ascending',
      prepared: false,
    },
    until: { kind: 'end-of-plan' },
  })
}
