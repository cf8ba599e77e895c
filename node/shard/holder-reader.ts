// Reads the keys that transactions hold. It asks the record of the holder how the transaction ended. If
// it is undecided, the question keeps its commit timestamp above the reader.

import type { Clock } from '../../lib/clock.ts'
import { millisOf, type HybridClock, type Timestamp } from '../clock/hybrid-clock.ts'
import type { TransactionStatus } from './command/command.ts'
import type { DocumentRecord } from './format/document-record.ts'
import { intentOutcome } from './apply/intent-outcome.ts'
import { rangeContains, type KeyRange } from './command/key-range.ts'
import type { Hold } from './apply/lock-table.ts'
import { TRANSACTION_SILENCE_MAX_MS } from './push-responder.ts'
import type { OverlayRow } from './apply/shard-overlay.ts'
import { unknownRoute, type ShardRouter } from './shard-router.ts'
import type { ShardState } from './shard-state.ts'
import type { TransactionId } from './command/transaction-id.ts'
import { isVisible } from './format/visibility.ts'

/** What the reads of held keys work with. `router` finds the records of the holders. */
export interface HolderReaderOptions {
  readonly state: ShardState
  readonly router: ShardRouter
  readonly clock: Clock
  readonly hybridClock: HybridClock
}

/** Transactions that are asked for side by side. */
const PUSHES_AT_ONCE = 16

export type FoundBehind =
  /** The holder committed. `record` is its version; undefined if that is deleted or expired. */
  | { readonly kind: 'decided'; readonly record: DocumentRecord | undefined }
  /** The store has the answer: the holder did not commit, or its outcome is in place already. */
  | { readonly kind: 'stored' }

/**
 * Reads keys that prepared transactions hold (INV-T5). It rejects with UNAVAILABLE when a record
 * cannot be found.
 */
export class HolderReader {
  readonly #with: HolderReaderOptions

  constructor(options: HolderReaderOptions) {
    this.#with = options
  }

  async recordBehind(hold: Hold): Promise<FoundBehind> {
    const { hybridClock, state } = this.#with
    const now = hybridClock.readPoint()
    const commitTs = await this.#heldCommit(hold, now)
    if (commitTs === undefined) return { kind: 'stored' }
    const record = intentOutcome(hold.intent.op, commitTs, state.settings)
    return { kind: 'decided', record: this.#visible(record, now) }
  }

  /** Whether the holder has committed, and its outcome is not in place yet. */
  async hasCommitted(hold: Hold): Promise<boolean> {
    return (await this.#heldCommit(hold, this.#with.hybridClock.readPoint())) !== undefined
  }

  async #heldCommit(hold: Hold, now: Timestamp): Promise<Timestamp | undefined> {
    const decided = await this.#push(hold, now)
    // The hold may be resolved meanwhile, and its version overwritten: then the store has the answer. This
    // compares holds by their transaction, because a rebuild of the memory makes new objects.
    const holder = this.#with.state.memory.locks.writer(hold.key)?.intent.transactionId
    const isHeld = holder === hold.intent.transactionId
    return decided.state === 'committed' && isHeld ? decided.commitTs : undefined
  }

  /** The holds of a range that a scan at a timestamp may see: on documents, and not on their artifacts alone. */
  holdsAt(range: KeyRange, at: Timestamp): readonly Hold[] {
    return [...this.#with.state.memory.locks.writers()].filter(
      ({ key, intent }) =>
        intent.commitAtLeast <= at && intent.op.kind !== 'artifacts' && rangeContains(range, key),
    )
  }

  /** One hold of each transaction that is to write a key of the range. */
  holdersIn(range: KeyRange): readonly Hold[] {
    const holders = new Map<TransactionId, Hold>()
    for (const hold of this.#with.state.memory.locks.writers()) {
      if (rangeContains(range, hold.key)) holders.set(hold.intent.transactionId, hold)
    }
    return [...holders.values()]
  }

  /** The newest commit of these transactions, and not below `atLeast`. Those that are undecided commit later. */
  async newestCommit(holders: readonly Hold[], atLeast: Timestamp): Promise<Timestamp> {
    let newest = atLeast
    for (let first = 0; first < holders.length; first += PUSHES_AT_ONCE) {
      const some = holders.slice(first, first + PUSHES_AT_ONCE)
      for (const status of await Promise.all(some.map((hold) => this.#push(hold, atLeast)))) {
        if (status.state === 'committed' && status.commitTs > newest) newest = status.commitTs
      }
    }
    return newest
  }

  /** The rows of held keys that a scan at a timestamp sees, by ascending keys. */
  async overlay(holds: readonly Hold[], at: Timestamp): Promise<readonly OverlayRow[]> {
    const statusOf = new Map<TransactionId, TransactionStatus>()
    const rows: OverlayRow[] = []
    for (const hold of holds) {
      const { transactionId, op } = hold.intent
      const status = statusOf.get(transactionId) ?? (await this.#push(hold, at))
      statusOf.set(transactionId, status)
      if (status.state !== 'committed' || status.commitTs > at) continue
      const record = intentOutcome(op, status.commitTs, this.#with.state.settings)
      rows.push({ key: hold.key, record: this.#visible(record, at) })
    }
    return rows.toSorted((a, b) => a.key.compare(b.key))
  }

  #visible(record: DocumentRecord | undefined, at: Timestamp): DocumentRecord | undefined {
    const { ttl } = this.#with.state.settings
    return record !== undefined && isVisible(record, ttl, millisOf(at)) ? record : undefined
  }

  async #push({ intent, heldSinceMs }: Hold, above: Timestamp): Promise<TransactionStatus> {
    const { transactionId, anchor } = intent
    const route = await this.#with.router.shardAt(anchor)
    // Before the table was dropped, every participant of its transactions learnt the outcome.
    if (route.kind === 'gone') return { state: 'aborted' }
    if (route.kind === 'unknown') throw unknownRoute(anchor, route.reason)
    const heldForMs = this.#with.clock.monotonicMs() - heldSinceMs
    const expired = heldForMs > TRANSACTION_SILENCE_MAX_MS
    return route.shard.push({ transactionId, anchor: anchor.key, above, expired })
  }
}
