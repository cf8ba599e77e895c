// Sends documents in batches, several at a time, and finds the documents that the service refuses.
//
// Invariants:
//   W1  Documents with one key are sent in the order of their lines. A batch holds a key once, and
//       waits for every batch in flight that holds one of its keys.
//   W2  At most `concurrency` batches are in flight. Each has at most `batchSize` documents and, if it
//       has more than one, at most BATCH_BYTES_MAX bytes.
//   W3  A refused batch is halved until single documents are refused, so that one bad document never
//       fails its neighbours.

import { Backoff } from '../../lib/backoff.ts'
import type { BackoffPolicy } from '../../lib/backoff.ts'
import type { Clock } from '../../lib/clock.ts'
import { messageOf } from '../../lib/errors.ts'
import type { Random } from '../../lib/random.ts'
import { ServiceRefusal, tablePath, Unreachable } from '../service/api-client.ts'
import { newIdempotencyKey } from '../service/idempotency-key.ts'
import type { ApiClient } from '../service/api-client.ts'
import type { SourceDocument } from './document-source.ts'

/** Less than the 64 MiB that the service accepts, and enough to make the cost of a request small. */
const BATCH_BYTES_MAX = 8 * 1024 * 1024

/** The retries last about 90 seconds in total, which is enough for a service to restart. */
const RETRY_POLICY: BackoffPolicy = { baseMs: 100, capMs: 10_000, retriesMax: 15 }

const RETRIED_STATUS = new Set([429, 502, 503, 504])
/** Refusals because of a batch's contents. Any other refusal concerns every batch. */
const CONTENT_STATUS = new Set([400, 413])

/** The place and the way of the writes, and the callbacks about them. */
export interface BatchWriterOptions {
  readonly client: ApiClient
  readonly table: string
  readonly batchSize: number
  readonly concurrency: number
  readonly clock: Clock
  readonly random: Random
  /** Called once for each refused document. */
  readonly onRejected: (document: SourceDocument, refusal: ServiceRefusal) => Promise<void>
  /** Called after each batch with its documents and their bytes. */
  readonly onLoaded: (documents: number, bytes: number) => void
  /** Called before a request is sent again, with the reason. */
  readonly onTrouble: (why: string) => void
}

interface Batch {
  readonly documents: readonly SourceDocument[]
  readonly keys: ReadonlySet<string>
}

/**
 * Writes the documents of one load. The caller awaits each `add`, and calls `finish` or `settle` at
 * the end.
 */
export class BatchWriter {
  readonly #options: BatchWriterOptions
  readonly #inFlight = new Map<Batch, Promise<void>>()
  #documents: SourceDocument[] = []
  #keys = new Set<string>()
  #bytes = 0
  #failures: unknown[] = []

  constructor(options: BatchWriterOptions) {
    this.#options = options
  }

  /** Queues a document, and waits while too many batches are in flight. Rejects if the load has failed. */
  async add(document: SourceDocument): Promise<void> {
    const overflows = this.#bytes + document.json.length > BATCH_BYTES_MAX
    if (overflows || this.#keys.has(document.key)) await this.#send()
    this.#documents.push(document)
    this.#keys.add(document.key)
    this.#bytes += document.json.length
    if (this.#documents.length >= this.#options.batchSize) await this.#send()
  }

  /** Resolves when all documents were written or refused. Rejects with the error that ended the load. */
  async finish(): Promise<void> {
    await this.#send()
    await Promise.all(this.#inFlight.values())
    this.#throwFailure()
  }

  /** Waits for the batches in flight and ignores their failures. It sends nothing more. */
  async settle(): Promise<void> {
    await Promise.all(this.#inFlight.values())
  }

  async #send(): Promise<void> {
    if (this.#documents.length === 0) return
    const batch: Batch = { documents: this.#documents, keys: this.#keys }
    this.#documents = []
    this.#keys = new Set()
    this.#bytes = 0
    await this.#roomFor(batch)
    const work = this.#write(batch.documents)
      .catch((error: unknown) => {
        this.#failures.push(error)
      })
      .finally(() => this.#inFlight.delete(batch))
    this.#inFlight.set(batch, work)
  }

  /** Waits until W1 and W2 allow the batch. */
  async #roomFor(batch: Batch): Promise<void> {
    for (;;) {
      this.#throwFailure()
      const sameKeys = [...this.#inFlight]
        .filter(([other]) => !other.keys.isDisjointFrom(batch.keys))
        .map(([, work]) => work)
      if (sameKeys.length > 0) await Promise.all(sameKeys)
      else if (this.#inFlight.size >= this.#options.concurrency) {
        await Promise.race(this.#inFlight.values())
      } else return
    }
  }

  #throwFailure(): void {
    if (this.#failures.length > 0) throw this.#failures[0]
  }

  async #write(documents: readonly SourceDocument[]): Promise<void> {
    const refusal = await this.#request(documents)
    const [first] = documents
    if (refusal === undefined) {
      const bytes = documents.reduce((sum, { json }) => sum + json.length, 0)
      this.#options.onLoaded(documents.length, bytes)
    } else if (documents.length === 1 && first !== undefined) {
      await this.#options.onRejected(first, refusal)
    } else {
      const middle = documents.length >> 1
      await this.#write(documents.slice(0, middle))
      await this.#write(documents.slice(middle))
    }
  }

  /** The refusal of a batch's contents; undefined: the batch was written. */
  async #request(documents: readonly SourceDocument[]): Promise<ServiceRefusal | undefined> {
    const { client, table, clock, random } = this.#options
    const backoff = new Backoff(RETRY_POLICY, clock, random)
    const idempotencyKey = newIdempotencyKey()
    const body = buildBatchBody(documents)
    for (;;) {
      try {
        await client.request({
          method: 'POST',
          path: `${tablePath(table)}/batch`,
          body,
          idempotencyKey,
        })
        return undefined
      } catch (error) {
        if (error instanceof ServiceRefusal && CONTENT_STATUS.has(error.status)) return error
        if (!isRetried(error)) throw error
        this.#options.onTrouble(messageOf(error))
        if (!(await backoff.wait(waitOf(error)))) throw error
      }
    }
  }
}

/** Whether the same request may succeed later. Its idempotency key makes the retry safe. */
function isRetried(error: unknown): boolean {
  if (error instanceof Unreachable) return true
  if (!(error instanceof ServiceRefusal)) return false
  return RETRIED_STATUS.has(error.status) || error.code === 'CONFLICT'
}

function waitOf(error: unknown): { atLeastMs?: number } {
  if (!(error instanceof ServiceRefusal) || error.retryAfterMs === undefined) return {}
  return { atLeastMs: Math.min(error.retryAfterMs, RETRY_POLICY.capMs) }
}

/** The body `{"inserts":{key:document,…}}`. The bytes of documents are copied unchanged. */
export function buildBatchBody(documents: readonly SourceDocument[]): Buffer<ArrayBuffer> {
  const parts: Buffer[] = []
  for (const [at, { key, json }] of documents.entries()) {
    const lead = at === 0 ? '{"inserts":{' : ','
    parts.push(Buffer.from(`${lead}${JSON.stringify(key)}:`), json)
  }
  parts.push(Buffer.from('}}'))
  return Buffer.concat(parts)
}
