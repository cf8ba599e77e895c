// What a client may ask a table to write, after its request body has been checked.

import type { TransformRequest } from './transform.ts'

/** From the weakest to the strongest: what an acknowledgement waits for beyond durability. */
export const SYNC_LEVELS = [
  'propose',
  'write',
  'full_text',
  'enrichments',
  'aknn',
  'full_index',
] as const
/** Levels of absent indexes mean `write`. */
export type SyncLevel = (typeof SYNC_LEVELS)[number]

/** One document to insert or replace: its key's UTF-8 bytes and its compact JSON text. */
export interface Insert {
  readonly key: Buffer
  /** One JSON object without insignificant white space and without duplicate member names. */
  readonly json: Buffer
}

/** The writes of one request to one table. They apply in this order: deletes, inserts, transforms. */
export interface TableWrites {
  readonly table: string
  readonly deletes: readonly Buffer[]
  readonly inserts: readonly Insert[]
  readonly transforms: readonly TransformRequest[]
}

/** A claim about what the client has read. Version 0 asserts that the document is absent. */
export interface ReadClaim {
  readonly table: string
  readonly key: Buffer
  /** An unsigned 64-bit integer. */
  readonly version: bigint
}
