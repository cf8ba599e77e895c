// Reads of a replica at closed times, from its store alone. What the store has beyond such a time is newer, and
// the versions before are in its history; a transaction that is not resolved there commits later.

import { ServiceError } from '../../lib/errors.ts'
import { millisOf, type Timestamp } from '../clock/hybrid-clock.ts'
import type { KvStore } from '../storage/kv-store.ts'
import { decodeCollected } from './format/collected-mark.ts'
import { checkRecord, versionOf } from './format/document-record.ts'
import { COLLECTED_KEY, documentKey } from './format/keyspace.ts'
import { isVisible } from './format/visibility.ts'
import { assertOwns, refusalOfRange } from './apply/owned-keys.ts'
import type { Replica } from './replica.ts'
import { historyGone, scanSnapshot, versionAt } from './shard-scan.ts'
import type { DatedRecord, ReadAtOptions } from './shard-replica.ts'
import type { ScanOptions, ScanRow } from './shard.ts'

/** The methods of ShardReplica, over one replica. */
export class ClosedReads {
  readonly #replica: Replica

  constructor(replica: Replica) {
    this.#replica = replica
  }

  /** Throws UNAVAILABLE while the replica knows no closed time. */
  closedTime(): Timestamp {
    const { replicated, appliedSequence } = this.#replica
    const time = replicated?.log.closedAt(appliedSequence)
    if (time !== undefined) return time
    throw new ServiceError(
      'UNAVAILABLE',
      'this replica has heard of no closed time yet; ask another one, or read without consistency=stale',
    )
  }

  async readAt(key: Buffer, { at = this.closedTime() }: ReadAtOptions): Promise<DatedRecord> {
    this.#assertClosed(at)
    const { store, ttl, options } = this.#replica
    assertOwns(options.range, key)
    const stored = store.get(documentKey(key))
    const newest = stored === undefined ? undefined : checkRecord(stored)
    const isOverwritten = newest !== undefined && versionOf(newest) > at
    const record = isOverwritten ? await versionAt(store, key, at) : newest
    assertKept(store, at) // after the reads: the history may be collected meanwhile
    const isSeen = record !== undefined && isVisible(record, ttl, this.#nowMs)
    return { at, record: isSeen ? record : undefined }
  }

  async scanAt({ range, at, signal }: ScanOptions): Promise<AsyncIterable<ScanRow[]>> {
    this.#assertClosed(at)
    const { store, ttl, options } = this.#replica
    const refusal = refusalOfRange(options.range, range)
    if (refusal !== undefined) throw refusal
    const snapshot = store.snapshot()
    try {
      const nowMs = this.#nowMs
      return scanSnapshot({ snapshot, range, at, signal, overlay: [], ttl, nowMs })
    } catch (error) {
      await snapshot[Symbol.asyncDispose]()
      throw error
    }
  }

  #assertClosed(at: Timestamp): void {
    if (at <= this.closedTime()) return
    throw new ServiceError('UNAVAILABLE', 'this replica does not show that time yet')
  }

  /** Never below the time that is read, whatever the clock of this node says. */
  get #nowMs(): number {
    return millisOf(this.#replica.options.hybridClock.readPoint())
  }
}

/** Throws HISTORY_GONE. */
export function assertKept(store: Pick<KvStore, 'get'>, at: Timestamp): void {
  const mark = store.get(COLLECTED_KEY)
  if (mark !== undefined && at < decodeCollected(mark)) throw historyGone()
}
