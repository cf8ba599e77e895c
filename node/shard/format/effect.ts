// The changes that a command makes in a shard's store. The log carries them, so that a replay and a
// follower need neither the command nor the code, clock and schema of the leader.

import type { Timestamp } from '../../clock/hybrid-clock.ts'
import type { DocumentRecord } from './document-record.ts'
import type { TransactionId } from '../command/transaction-id.ts'

/**
 * - `put` and `del` change one key of the store, as it is.
 * - `document` replaces the newest record of a document; the one before moves to history, and the
 *   expiry index follows. Where a transaction's intent holds the JSON, the log does not repeat it.
 * - `retime` gives the newest record another expiry, and leaves version and JSON.
 */
export type Effect =
  | { readonly kind: 'put'; readonly key: Buffer; readonly value: Uint8Array }
  | { readonly kind: 'del'; readonly key: Buffer }
  | DocumentEffect
  | { readonly kind: 'retime'; readonly key: Buffer; readonly record: DocumentRecord }

/** A new newest record of a document. The record before it moves to history. */
export interface DocumentEffect {
  readonly kind: 'document'
  readonly key: Buffer
  readonly record: DocumentRecord
  /** The version that moves to history. */
  readonly previous: Timestamp | undefined
  /** The record of that version. Undefined: the applier reads it from the store again. */
  readonly previousRecord: DocumentRecord | undefined
  /** The transaction whose intent on the key this record replaces. */
  readonly intentOf: TransactionId | undefined
}
