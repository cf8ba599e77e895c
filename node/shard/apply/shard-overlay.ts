// The effects of commands that the store lacks yet.
//
//   open ──taken by the journal──► taken ──committed──► waiting ──► applying ──written──► the store
//   └────── commands see all of it ───────────────────────────────────────────────────────────────┘
//                                                      └────── readers see this ──────────────────┘
//
// Invariants:
//   O1  A command sees the effects of every command before it.
//   O2  A reader sees no effect before it is committed, but for a resolution: the transaction's decision
//       is committed already, and recovery would resolve it again.
//   O3  A layer goes only when the store holds all of it.

import { must } from '../../../lib/assert.ts'
import type { KvStore } from '../../storage/kv-store.ts'
import type { Decision } from '../command/command.ts'
import { checkRecord, type DocumentRecord } from '../format/document-record.ts'
import { documentKey, finishedKey } from '../format/keyspace.ts'
import { rangeContains, type KeyRange } from '../command/key-range.ts'
import { decodeFinishedMark } from '../format/transaction-record.ts'
import type { TransactionId } from '../command/transaction-id.ts'

/** The row of a key by a transaction that had committed, and not resolved, at the time of the scan. */
export interface OverlayRow {
  readonly key: Buffer
  /** Undefined: the transaction deleted it. */
  readonly record: DocumentRecord | undefined
}

/** Records by document key (`nameOf`), `undefined` for a removed one, and the ends of transactions. */
export class OverlayLayer {
  records = new Map<string, DocumentRecord | undefined>()
  /** Absent in most layers, like `visible`: a layer is made for every command. */
  finished: Map<TransactionId, Decision> | undefined
  /** The records that readers may see at once (O2). */
  visible: Map<string, DocumentRecord | undefined> | undefined

  get isEmpty(): boolean {
    return this.records.size === 0 && this.finished === undefined
  }

  /** Lays `above` over this layer, whose maps it takes over where they are larger. */
  add(above: OverlayLayer): void {
    this.records = merged(this.records, above.records)
    this.finished = mergedIfAny(this.finished, above.finished)
    this.visible = mergedIfAny(this.visible, above.visible)
  }
}

function mergedIfAny<Key, Value>(
  below: Map<Key, Value> | undefined,
  above: Map<Key, Value> | undefined,
): Map<Key, Value> | undefined {
  return below === undefined || above === undefined ? (below ?? above) : merged(below, above)
}

function merged<Key, Value>(below: Map<Key, Value>, above: Map<Key, Value>): Map<Key, Value> {
  if (below.size <= above.size) {
    for (const [key, value] of below) if (!above.has(key)) above.set(key, value)
    return above
  }
  for (const [key, value] of above) below.set(key, value)
  return below
}

// Latin-1 maps bytes to characters one to one, which makes it the cheapest exact map key.
export function nameOf(key: Buffer): string {
  return key.toString('latin1')
}

/** The newest records of a shard over its store. All reads are synchronous. */
export class ShardOverlay {
  readonly #store: KvStore
  #open = new OverlayLayer()
  /** A layer for each group that was taken and is not committed, the newest first. */
  #taken: OverlayLayer[] = []
  #waiting = new OverlayLayer()
  #applying = new OverlayLayer()

  constructor(store: KvStore) {
    this.#store = store
  }

  /** The newest record for a command (O1). */
  newest(key: Buffer): DocumentRecord | undefined {
    if (this.#isEmpty()) return this.#stored(key)
    const name = nameOf(key)
    if (this.#open.records.has(name)) return this.#open.records.get(name)
    for (const { records } of this.#taken) if (records.has(name)) return records.get(name)
    if (this.#waiting.records.has(name)) return this.#waiting.records.get(name)
    if (this.#applying.records.has(name)) return this.#applying.records.get(name)
    return this.#stored(key)
  }

  #isEmpty(): boolean {
    return (
      this.#open.records.size === 0 &&
      this.#taken.every(({ records }) => records.size === 0) &&
      this.#waiting.records.size === 0 &&
      this.#applying.records.size === 0
    )
  }

  /** The newest record for a reader (O2). */
  visible(key: Buffer): DocumentRecord | undefined {
    if (!this.#hasVisible()) return this.#stored(key)
    const name = nameOf(key)
    if (this.#open.visible?.has(name) === true) return this.#open.visible.get(name)
    for (const { visible } of this.#taken) if (visible?.has(name) === true) return visible.get(name)
    if (this.#waiting.records.has(name)) return this.#waiting.records.get(name)
    if (this.#applying.records.has(name)) return this.#applying.records.get(name)
    return this.#stored(key)
  }

  #hasVisible(): boolean {
    return (
      this.#waiting.records.size > 0 ||
      this.#applying.records.size > 0 ||
      this.#open.visible !== undefined ||
      this.#taken.some(({ visible }) => visible !== undefined)
    )
  }

  /** How a transaction ended, for a command. */
  newestFinish(transactionId: TransactionId): Decision | undefined {
    const open = this.#open.finished?.get(transactionId)
    if (open !== undefined) return open
    for (const { finished } of this.#taken) {
      const taken = finished?.get(transactionId)
      if (taken !== undefined) return taken
    }
    return this.durableFinish(transactionId)
  }

  /** How a transaction ended, if that is durable. */
  durableFinish(transactionId: TransactionId): Decision | undefined {
    const unwritten =
      this.#waiting.finished?.get(transactionId) ?? this.#applying.finished?.get(transactionId)
    if (unwritten !== undefined) return unwritten
    const mark = this.#store.get(finishedKey(transactionId))
    return mark === undefined ? undefined : decodeFinishedMark(mark)
  }

  /** The records of a range that are durable and perhaps not in the store, by ascending keys. */
  durableRows(range: KeyRange): readonly OverlayRow[] {
    const records = new Map([...this.#applying.records, ...this.#waiting.records])
    return [...records]
      .map(([name, record]) => ({ key: Buffer.from(name, 'latin1'), record }))
      .filter(({ key }) => rangeContains(range, key))
      .toSorted((a, b) => a.key.compare(b.key))
  }

  #stored(key: Buffer): DocumentRecord | undefined {
    const record = this.#store.get(documentKey(key))
    return record === undefined ? undefined : checkRecord(record)
  }

  /** The effects of a command that has ended. */
  add(layer: OverlayLayer): void {
    this.#open.add(layer)
  }

  take(): void {
    this.#taken.unshift(this.#open)
    this.#open = new OverlayLayer()
  }

  /** The group that was taken first is committed. */
  publish(): void {
    this.#waiting.add(must(this.#taken.pop(), 'the layer of a taken group'))
  }

  beginApplying(): void {
    this.#applying = this.#waiting
    this.#waiting = new OverlayLayer()
  }

  endApplying(): void {
    this.#applying = new OverlayLayer()
  }

  /** Drops the layer of the group that is being applied, because it was refused. */
  dropOpen(): void {
    this.#open = new OverlayLayer()
  }

  /** Drops the layers that are not committed, because their groups were refused. */
  dropUncommitted(): void {
    this.#open = new OverlayLayer()
    this.#taken = []
  }
}
