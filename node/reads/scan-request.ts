import type { HeldMemory } from '../../lib/http/request-memory.ts'
import type { Projection } from '../document/projection.ts'
import type { Query } from '../query/query-tree.ts'

/**
 * A range of keys and what to show of its documents. An undefined `from` or `to` leaves that end
 * open.
 */
export interface ScanRequest {
  readonly from: Buffer | undefined
  readonly to: Buffer | undefined
  /** Default false: `from` itself is left out. */
  readonly inclusiveFrom: boolean
  /** Default false: `to` itself is part of the range. */
  readonly exclusiveTo: boolean
  /** Undefined: lines hold the key alone, or the whole document in an envelope. */
  readonly projection: Projection | undefined
  /** Whether documents stand beside their keys, so that no member of theirs gives way. */
  readonly inEnvelope: boolean
  readonly filter: Query | undefined
  /** The most documents to yield; undefined: all. */
  readonly limit: number | undefined
}

/** `signal` ends the scan when the client has gone. */
export interface ScanCallOptions {
  readonly signal: AbortSignal
  /** Charged with the rows that were read and whose lines the client has not asked for yet. */
  readonly memory?: HeldMemory | undefined
}
