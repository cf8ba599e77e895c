// Sends documents in batches, several at a time, and finds the ones that the service refuses.
//
// Invariants:
//   W1  Documents of one key are sent in the order of their lines: a batch holds a key once, and
//       waits for every batch in flight that holds one of its keys.
//   W2  At most `concurrency` batches are in flight, each of at most `batchSize` documents and, if
//       it holds more than one, BATCH_BYTES_MAX bytes.
//   W3  A refused batch is halved until single documents are refused: one bad document never fails
//       its neighbours.

import { Backoff } from '../../lib/backoff.ts'
import type { BackoffPolicy } from '../../lib/backoff.ts'
import type { Clock } from '../../lib/clock.ts'
import { messageOf } from '../../lib/errors.ts'
import type { Random } from '../../lib/random.ts'
import { ServiceRefusal, tablePath, Unreachable } from '../service/api-client.ts'
import { newIdempotencyKey } from '../service/idempotency-key.ts'
import type { ApiClient } from '../service/api-client.ts'
import type { SourceDocument } from './document-source.ts'

/** Below the 64 MiB that the service accepts, and large enough that a request costs little. */
export const BATCH_BYTES_MAX = 8 * 1024 * 1024

/** About a minute and a half in all: a restarting service is back by then. */
const RETRY_POLICY: BackoffPolicy = { baseMs: 100, capMs: 10_000, retriesMax: 15 }

const RETRIED_STATUS = new Set([429, 502, 503, 504])
/** Refusals of what the batch holds. Any other refusal would meet every batch alike. */
const CONTENT_STATUS = new Set([400, 413])

export interface BatchWriterOptions {
  readonly client: ApiClient
  readonly table: string
  readonly batchSize: number
  readonly concurrency: number
  readonly clock: Clock
  readonly random: Random
  /** Called once per document that was refused. */
  readonly onRejected: (document: SourceDocument, refusal: ServiceRefusal) => Promise<void>
  readonly onLoaded: (documents: number, bytes: number) => void
  /** Called when a request was not answered, or not with an answer, and is sent again. */
  readonly onTrouble: (why: string) => void
}

interface Batch {
  readonly documents: readonly SourceDocument[]
  readonly keys: ReadonlySet<string>
}

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

  async add(document: SourceDocument): Promise<void> {
    const overflows = this.#bytes + document.json.length > BATCH_BYTES_MAX
    if (overflows || this.#keys.has(document.key)) await this.#send()
    this.#documents.push(document)
    this.#keys.add(document.key)
    this.#bytes += document.json.length
    if (this.#documents.length >= this.#options.batchSize) await this.#send()
  }

  /** Resolves when everything was answered; rejects with what stopped the work. */
  async finish(): Promise<void> {
    await this.#send()
    await Promise.all(this.#inFlight.values())
    this.#throwFailure()
  }

  /** Waits for what is in flight, whatever becomes of it: nothing is sent any more. */
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

  /** The refusal of the content, or undefined when it is written. */
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

/** Whether the same request may succeed later. Safe, because the idempotency key stays the same. */
function isRetried(error: unknown): boolean {
  if (error instanceof Unreachable) return true
  if (!(error instanceof ServiceRefusal)) return false
  return RETRIED_STATUS.has(error.status) || error.code === 'CONFLICT'
}

function waitOf(error: unknown): { atLeastMs?: number } {
  if (!(error instanceof ServiceRefusal) || error.retryAfterMs === undefined) return {}
  return { atLeastMs: Math.min(error.retryAfterMs, RETRY_POLICY.capMs) }
}

/** `{"inserts":{key:document,…}}`, with each document's bytes as they came. */
export function buildBatchBody(documents: readonly SourceDocument[]): Buffer<ArrayBuffer> {
  const parts: Buffer[] = []
  for (const [at, { key, json }] of documents.entries()) {
    const lead = at === 0 ? '{"inserts":{' : ','
    parts.push(Buffer.from(`${lead}${JSON.stringify(key)}:`), json)
  }
  parts.push(Buffer.from('}}'))
  return Buffer.concat(parts)
}
