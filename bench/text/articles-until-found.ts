import { batchPath, SETTLE_TIMEOUT_MS } from '../documents/quarry-server.ts'
import { settle } from '../process-memory.ts'
import type { Bench } from '../suite.ts'

const DOCUMENTS_PER_BATCH = 1000
/** The table that a row creates, fills and drops. */
export const INGEST_TABLE = 'ingest'

/** How many articles go into an empty index in one run. */
export interface IngestSize {
  readonly documents: number
  readonly clients: number
}

/** A server with an empty index: what makes articles searchable, and what makes it empty again. */
export interface IngestTarget {
  readonly origin: string
  readonly pid: number
  readonly waitUntilFound: () => Promise<unknown>
  readonly clear: () => Promise<unknown>
}

/** Articles in a second, from the first batch until the last article is found. */
export async function articlesUntilFound(
  { generator, clock, seed }: Bench,
  { origin, pid, waitUntilFound, clear }: IngestTarget,
  { documents, clients }: IngestSize,
): Promise<number> {
  const { elapsedMs } = await generator.load({
    origin,
    clients,
    plan: {
      kind: 'insert-batches',
      path: batchPath(INGEST_TABLE),
      shape: 'article',
      seed,
      firstDocument: 0,
      documents,
      documentsPerBatch: DOCUMENTS_PER_BATCH,
      keyOrder: 'ascending',
      prepared: true,
    },
    until: { kind: 'end-of-plan' },
  })
  const writtenMs = clock.monotonicMs()
  await waitUntilFound()
  const foundMs = elapsedMs + clock.monotonicMs() - writtenMs
  await clear()
  await settle(pid, clock, SETTLE_TIMEOUT_MS)
  return (documents / foundMs) * 1000
}
