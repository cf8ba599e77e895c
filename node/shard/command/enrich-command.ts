// What the leader proposes when a model has made artifacts of documents.

import type { Timestamp } from '../../clock/hybrid-clock.ts'

/** Documents with keys above `after`, up to and with `last`; undefined: from the first, to the end. */
export interface WalkedSpan {
  readonly after: Buffer | undefined
  readonly last: Buffer | undefined
}

/**
 * Each document that was touched up to `sequence` has an artifact of that touch or of a later one, or is in one of
 * the spans, which are walked in order.
 */
export interface EnrichmentProgress {
  readonly sequence: number
  readonly spans: readonly WalkedSpan[]
}

/** Why a document is parked: its source is at fault, or the model was not reached in all attempts. */
export type ParkedCause = 'refused' | 'unreachable'

/** What was made of one document for an index. */
export interface EnrichedDocument {
  readonly key: Buffer
  /** The version from which it was made. A later version is enriched by a command of its own. */
  readonly version: Timestamp
  /** Encoded; its ordinal is put in when the command is applied. */
  readonly artifact: Buffer
  /** What the artifact means for the mark of a parked document; `none` where there was no mark. */
  readonly mark: ParkedCause | 'removed' | 'none'
}

/** Gives documents the artifacts that a model has made, without changing their version. */
export interface EnrichCommand {
  /** The id of the index. */
  readonly index: string
  readonly items: readonly EnrichedDocument[]
  /** What a later leader need not look at again, once this is applied. */
  readonly progress: EnrichmentProgress | undefined
}

/** The cost of a document beyond its bytes. */
const ITEM_BYTES = 32

/** A rough size in bytes. */
export function enrichBytes({ items }: Pick<EnrichCommand, 'items'>): number {
  return items.reduce(
    (sum, { key, artifact }) => sum + ITEM_BYTES + key.length + artifact.length,
    0,
  )
}
