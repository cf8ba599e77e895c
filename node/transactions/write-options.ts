import type { SyncLevel } from '../document/writes.ts'

/**
 * How a write is acknowledged. `signal` aborts when the client has gone; the write may still
 * happen.
 */
export interface WriteOptions {
  readonly syncLevel: SyncLevel
  /** The Idempotency-Key header; `digest` is a hash of the whole request, to detect misuse. */
  readonly idempotency?: { readonly key: string; readonly digest: string }
  readonly signal?: AbortSignal
}
