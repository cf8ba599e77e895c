// The jobs of the load generator and their answers, which processes exchange as JSON.

import type { DocumentShape } from '../data/document-source.ts'

/** A load of several clients on one server, or on several. */
export interface LoadJob {
  readonly kind: 'load'
  /** Its scheme names the protocol: http, postgres or etcd. */
  readonly origin: string
  /** Further servers: the clients are spread over all. */
  readonly otherOrigins?: readonly string[]
  /** Each client has one connection and sends its next request after the answer to the last one. */
  readonly clients: number
  readonly plan: RequestPlan
  readonly until: LoadEnd
}

/** The end of a load: after a time, with a warm-up that does not count, or after the last request. */
export type LoadEnd =
  | { readonly kind: 'time'; readonly warmupMs: number; readonly ms: number }
  | { readonly kind: 'end-of-plan' }

export type RequestPlan = InsertBatches | InsertEach | Lookups | Searches | Bodies

/** Batch writes of a table, each document once. */
export interface InsertBatches {
  readonly kind: 'insert-batches'
  readonly path: string
  readonly shape: DocumentShape
  readonly seed: number
  readonly firstDocument: number
  readonly documents: number
  readonly documentsPerBatch: number
  readonly keyOrder: KeyOrder
  /** Builds every request before the first is sent, so that building them costs the server nothing. */
  readonly prepared: boolean
}

/** `by-shard` distributes the keys of a batch over the prefixes `a` to `d`, at which a table is split. */
export type KeyOrder = 'ascending' | 'scattered' | 'by-shard'

/** One document for each request, each with its own key. */
export interface InsertEach {
  readonly kind: 'insert-each'
  readonly target: InsertTarget
  readonly seed: number
  readonly firstDocument: number
}

/**
 * Who stores the documents: the batch of a table; the bare server, which gets the same body and the key also
 * in the path; the table of PostgreSQL, by an upsert; etcd, by a put.
 */
export type InsertTarget =
  | { readonly kind: 'batch'; readonly path: string }
  | { readonly kind: 'bare' | 'postgres' | 'etcd' }

/** Documents [0, documents), at random. */
export interface Lookups {
  readonly kind: 'lookups'
  /** The key follows. */
  readonly path: string
  readonly seed: number
  readonly documents: number
}

/** The ten best by score, with titles: queries of one and two terms, and phrases. */
export interface Searches {
  readonly kind: 'searches'
  readonly path: string
  /** The seed of the articles in the table. */
  readonly articlesSeed: number
  readonly documents: number
  readonly seed: number
  /** The number of requests; undefined: no limit. */
  readonly requestsMax: number | undefined
}

/** Requests whose bodies are given: each once, or again and again. */
export interface Bodies {
  readonly kind: 'bodies'
  readonly path: string
  readonly bodies: readonly string[]
  readonly repeats: boolean
}

/** The result of a load: counts, and percentiles of latencies. */
export interface LoadResult {
  /** Those that count. */
  readonly requests: number
  /** All that were answered, those of the warm-up too. */
  readonly answered: number
  readonly elapsedMs: number
  readonly p50Ms: number
  readonly p95Ms: number
  readonly p99Ms: number
  /** The share of one core that the generator used. Near 1, the generator was the bottleneck. */
  readonly generatorCpu: number
}

/** A scan of a whole table by one client, which counts lines. */
export interface ScanJob {
  readonly kind: 'scan'
  readonly url: string
}

/** The lines of a scan and its time. */
export interface ScanResult {
  readonly lines: number
  readonly elapsedMs: number
}

export type Job = LoadJob | ScanJob
export type JobAnswer =
  | { readonly kind: 'load'; readonly result: LoadResult }
  | { readonly kind: 'scan'; readonly result: ScanResult }
  | { readonly kind: 'failure'; readonly message: string }
