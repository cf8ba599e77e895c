// What the load generator can be asked to do, and what it answers. Sent between processes as JSON.

import type { DocumentShape } from '../data/document-source.ts'

export interface LoadJob {
  readonly kind: 'load'
  readonly origin: string
  /** Each has a connection, and sends its next request when the answer to the last one is there. */
  readonly clients: number
  readonly plan: RequestPlan
  readonly until: LoadEnd
}

/** By time, after a warm-up that does not count, or when the plan has no more requests. */
export type LoadEnd =
  | { readonly kind: 'time'; readonly warmupMs: number; readonly ms: number }
  | { readonly kind: 'end-of-plan' }

export type RequestPlan = InsertBatches | InsertEach | Lookups | Searches

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

/** `by-shard` deals the keys of a batch out over prefixes `a` to `d`, which a table is cut at. */
export type KeyOrder = 'ascending' | 'scattered' | 'by-shard'

/** One document per request, each with a key of its own. */
export interface InsertEach {
  readonly kind: 'insert-each'
  /** A table's batch, or the bare server's way: the same body, with the key in the path as well. */
  readonly target: { readonly kind: 'batch'; readonly path: string } | { readonly kind: 'bare' }
  readonly seed: number
  readonly firstDocument: number
}

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
  /** Of the articles that are there. */
  readonly articlesSeed: number
  readonly documents: number
  readonly seed: number
  /** Undefined: without end. */
  readonly requestsMax: number | undefined
}

export interface LoadResult {
  readonly requests: number
  readonly elapsedMs: number
  readonly p50Ms: number
  readonly p95Ms: number
  readonly p99Ms: number
  /** Of one core, that the generator itself used. Near 1, it measured itself. */
  readonly generatorCpu: number
}

/** A whole table, read to its end by one client that counts lines. */
export interface ScanJob {
  readonly kind: 'scan'
  readonly url: string
}

export interface ScanResult {
  readonly lines: number
  readonly elapsedMs: number
}

export type Job = LoadJob | ScanJob
export type JobAnswer =
  | { readonly kind: 'load'; readonly result: LoadResult }
  | { readonly kind: 'scan'; readonly result: ScanResult }
  | { readonly kind: 'failure'; readonly message: string }
