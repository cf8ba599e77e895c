// What a command changes in a shard's store: the log carries it, so that a replay and a follower need
// neither the command nor the code, clock and schema that it met (DESIGN 5.2).

import type { Timestamp } from '../clock/hybrid-clock.ts'
import type { DocumentRecord } from './format/document-record.ts'
import type { TransactionId } from './transaction-id.ts'

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

export interface DocumentEffect {
  readonly kind: 'document'
  readonly key: Buffer
  readonly record: DocumentRecord
  /** The version that moves to history. */
  readonly previous: Timestamp | undefined
  /** The record of that version, where it is at hand; else it is read again from the store. */
  readonly previousRecord: DocumentRecord | undefined
  /** The transaction whose intent on the key becomes this record, and goes. */
  readonly intentOf: TransactionId | undefined
}
