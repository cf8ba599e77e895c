// A table whose index of meanings the store fills.

import type { Clock } from '../../lib/clock.ts'
import { batchPath, call, createIndexedTable, tablePath } from '../documents/quarry-server.ts'
import type { QuarryServer } from '../documents/quarry-server.ts'

const INDEX = 'meaning'
const POLL_MS = 20
const DOCUMENTS_PER_BATCH = 500
const WRITERS = 4

/** The index, without its type and its field. */
export interface ManagedIndex {
  readonly field: string
  readonly embedder: object
}

/** One table with its server. */
export class ManagedTable {
  readonly #server: QuarryServer
  readonly #table: string
  readonly #clock: Clock

  private constructor(server: QuarryServer, table: string, clock: Clock) {
    this.#server = server
    this.#table = table
    this.#clock = clock
  }

  /** A new table of four shards, with its full-text index. */
  static async create(server: QuarryServer, table: string, clock: Clock): Promise<ManagedTable> {
    await createIndexedTable(server, table, { split_keys: ['b', 'c', 'd'] })
    return new ManagedTable(server, table, clock)
  }

  async addIndex({ field, embedder }: ManagedIndex): Promise<void> {
    const config = { type: 'embeddings', field, embedder, distance_metric: 'cosine' }
    await call(this.#indexUrl, 'POST', config)
  }

  /** JSON texts of documents, spread over the shards by their keys. */
  async write(documents: readonly string[]): Promise<void> {
    const bodies = this.bodiesOf(documents)
    await this.send(bodies)
  }

  bodiesOf(documents: readonly string[]): readonly string[] {
    const bodies: string[] = []
    for (let from = 0; from < documents.length; from += DOCUMENTS_PER_BATCH) {
      const inserts = documents
        .slice(from, from + DOCUMENTS_PER_BATCH)
        .map((json, at) => `"${'abcd'.charAt(at % 4)}${from + at}":${json}`)
      bodies.push(`{"inserts":{${inserts.join(',')}}}`)
    }
    return bodies
  }

  /** Resolves when all are acknowledged. */
  async send(bodies: readonly string[]): Promise<void> {
    const rest = bodies.values()
    const url = `${this.#server.origin}${batchPath(this.#table)}`
    const writer = async (): Promise<void> => {
      for (const body of rest) {
        const headers = { 'content-type': 'application/json' }
        const answer = await fetch(url, { method: 'POST', headers, body })
        const text = await answer.text()
        if (!answer.ok) throw new Error(`batch: status ${answer.status}: ${text}`)
      }
    }
    await Promise.all(Array.from({ length: WRITERS }, writer))
  }

  /** Resolves when searches by meaning find so many documents. Rejects if one was parked. */
  async found(count: number): Promise<void> {
    for (;;) {
      const { status }: Told = JSON.parse(await call(this.#indexUrl, 'GET'))
      if (status.enrichment.parked > 0) throw new Error(status.enrichment.error)
      if (status.total_indexed >= count) return
      await this.#clock.sleep(POLL_MS)
    }
  }

  async drop(): Promise<void> {
    await call(`${this.#server.origin}${tablePath(this.#table)}`, 'DELETE')
  }

  get #indexUrl(): string {
    return `${this.#server.origin}${tablePath(this.#table)}/indexes/${INDEX}`
  }
}

interface Told {
  readonly status: {
    readonly total_indexed: number
    readonly enrichment: { readonly parked: number; readonly error: string }
  }
}
