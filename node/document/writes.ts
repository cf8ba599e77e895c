// The writes that a client may ask of a table, after the check of its request body.

import type { TransformRequest } from './transform-request.ts'

/**
 * From the weakest to the strongest. A level says what the acknowledgement waits for beyond
 * durability.
 */
export const SYNC_LEVELS = [
  'propose',
  'write',
  'full_text',
  'enrichments',
  'aknn',
  'full_index',
] as const
/** A level that waits for an index means `write` if the table has no such index. */
export type SyncLevel = (typeof SYNC_LEVELS)[number]

/** One document to insert or replace. */
export interface Insert {
  /** UTF-8, 1 to KEY_BYTES_MAX bytes. */
  readonly key: Buffer
  /** One JSON object without insignificant white space and without duplicate member names. */
  readonly json: Buffer
  /**
   * The value of the document's `_embeddings`, which `json` lacks. If `json` is empty beside it,
   * the stored document keeps its body.
   */
  readonly embeddings?: Buffer | undefined
}

/** The writes of one request to one table. They apply in this order: deletes, inserts, transforms. */
export interface TableWrites {
  readonly table: string
  readonly deletes: readonly Buffer[]
  readonly inserts: readonly Insert[]
  readonly transforms: readonly TransformRequest[]
}

/** The client states which version it has read. Version 0 states that the document was absent. */
export interface ReadClaim {
  readonly table: string
  readonly key: Buffer
  /** An unsigned 64-bit integer. */
  readonly version: bigint
}
