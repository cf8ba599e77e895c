// The reads of a replica: documents by key, and ranges at one timestamp.

import { millisOf, type Timestamp } from '../clock/hybrid-clock.ts'
import { versionOf, type DocumentRecord } from './format/document-record.ts'
import { ArtifactReads } from './artifact-reads.ts'
import { HolderReader } from './holder-reader.ts'
import type { KeyRange } from './command/key-range.ts'
import type { Hold } from './apply/lock-table.ts'
import { assertOwns, refusalOfKey, refusalOfRange } from './apply/owned-keys.ts'
import type { Replica } from './replica.ts'
import { hasNoDocument, mergeRows, scanSnapshot } from './shard-scan.ts'
import type { OverlayRow } from './apply/shard-overlay.ts'
import type { ArtifactsAsked, FoundArtifacts, ScanOptions, ScanRow, ShardStats } from './shard.ts'
import { isVisible } from './format/visibility.ts'

/**
 * The reading methods of Shard, over one replica; none of them changes anything. They reject with RANGE_MOVED if
 * another shard owns a key that they are asked for.
 */
export class ShardReads {
  readonly #replica: Replica
  readonly #holders: HolderReader
  readonly #artifacts: ArtifactReads
  readonly #range: KeyRange

  constructor(replica: Replica) {
    this.#replica = replica
    this.#range = replica.options.range
    const { router, clock, hybridClock } = replica.options
    this.#holders = new HolderReader({ state: replica.state, router, clock, hybridClock })
    this.#artifacts = new ArtifactReads(replica, this.#holders)
  }

  async artifacts(asked: ArtifactsAsked): Promise<readonly FoundArtifacts[]> {
    for (const key of asked.keys) assertOwns(this.#range, key)
    return this.#artifacts.read(asked)
  }

  /** Without a promise unless a transaction holds the key. */
  read(key: Buffer): DocumentRecord | undefined | Promise<DocumentRecord | undefined> {
    const refusal = refusalOfKey(this.#range, key)
    if (refusal !== undefined) return Promise.reject(refusal)
    const hold = this.#replica.state.memory.locks.writer(key)
    const isChanged = hold !== undefined && hold.intent.op.kind !== 'artifacts'
    return isChanged ? this.#readHeld(key, hold) : this.#readStored(key)
  }

  #readStored(key: Buffer): DocumentRecord | undefined {
    const { state, ttl, nowMs } = this.#replica
    const record = state.overlay.visible(key)
    return record !== undefined && isVisible(record, ttl, nowMs) ? record : undefined
  }

  async #readHeld(key: Buffer, hold: Hold): Promise<DocumentRecord | undefined> {
    const found = await this.#holders.recordBehind(hold)
    return found.kind === 'decided' ? found.record : this.#readStored(key)
  }

  /**
   * The clock of a leader has heard of every commit in its store. A transaction that still holds a key may have been
   * decided and acknowledged elsewhere, by a clock that is ahead. With one replica there is one clock.
   */
  moment(range: KeyRange): Timestamp | Promise<Timestamp> {
    const refusal = refusalOfRange(this.#range, range)
    if (refusal !== undefined) return Promise.reject(refusal)
    const { replicated, options } = this.#replica
    const now = options.hybridClock.readPoint()
    if (replicated === undefined) return now
    const holders = this.#holders.holdersIn(range)
    return holders.length === 0 ? now : this.#holders.newestCommit(holders, now)
  }

  async scan({ range, at, signal }: ScanOptions): Promise<AsyncIterable<ScanRow[]>> {
    const refusal = refusalOfRange(this.#range, range)
    if (refusal !== undefined) throw refusal
    const { store, options, ttl } = this.#replica
    options.hybridClock.observe(at)
    // Every later stamp is above `at`. So a version at or below `at` whose key is not held now has been
    // applied, and the snapshot will show it.
    const holds = this.#holders.holdsAt(range, at)
    const unapplied = await this.#unappliedRows(range, at)
    const snapshot = store.snapshot()
    try {
      const overlay = mergeRows(unapplied, await this.#holders.overlay(holds, at))
      return scanSnapshot({ snapshot, range, at, signal, overlay, ttl, nowMs: millisOf(at) })
    } catch (error) {
      await snapshot[Symbol.asyncDispose]()
      throw error
    }
  }

  /**
   * The rows that a scan must lay over the store. Usually this waits until the store holds every durable
   * entry, and answers none. While the store refuses, it answers the rows that the store lacks.
   */
  async #unappliedRows(range: KeyRange, at: Timestamp): Promise<readonly OverlayRow[]> {
    const { log, state, ttl } = this.#replica
    try {
      await log.settled()
      return []
    } catch (error) {
      if (log.storeTrouble === undefined) throw error
      const rows = state.overlay.durableRows(range)
      // The version that such a row replaced may be neither in the overlay nor in the store.
      if (rows.some(({ record }) => record !== undefined && versionOf(record) > at)) throw error
      const nowMs = millisOf(at)
      return rows.map(({ key, record }) => {
        const isSeen = record !== undefined && isVisible(record, ttl, nowMs)
        return { key, record: isSeen ? record : undefined }
      })
    }
  }

  async stats(): Promise<ShardStats> {
    const { store, ttl, nowMs, indexes } = this.#replica
    const diskBytes = await store.approximateBytes({})
    const empty = await hasNoDocument(store, { ttl, nowMs })
    return { diskBytes, empty, indexVersions: (await indexes?.answeringVersions()) ?? [] }
  }
}
