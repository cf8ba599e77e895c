import type { KvOp, KvStore } from '../storage/kv-store.ts'
import type { Decision } from './apply/command.ts'
import { checkRecord, type DocumentRecord } from './format/document-record.ts'
import { documentKey, finishedKey, keyOfDocumentKey, KEYSPACES } from './format/keyspace.ts'
import type { TransactionId } from './transaction-id.ts'
import { decodeFinishedMark, encodeFinishedMark } from './format/transaction-record.ts'

/**
 * The shard's state as a group of commands sees it while it is applied: the store at the bottom, the
 * effects of the group that is being written above it, the group's own on top. The effects become
 * one atomic batch.
 */
export class ShardView {
  readonly #store: KvStore
  #below: ShardView | undefined
  readonly #records = new Map<string, DocumentRecord | undefined>()
  readonly #finished = new Map<TransactionId, Decision>()
  readonly #effects: KvOp[] = []

  constructor(store: KvStore, below?: ShardView) {
    this.#store = store
    this.#below = below
  }

  get effects(): readonly KvOp[] {
    return this.#effects
  }

  /** The newest record under a document key, tombstones included. */
  record(key: Buffer): DocumentRecord | undefined {
    if (this.#records.size > 0 || this.#below !== undefined) {
      const name = key.toString('latin1')
      const holder = this.#holderOf(name)
      if (holder !== undefined) return holder.#records.get(name)
    }
    const record = this.#store.get(documentKey(key))
    return record === undefined ? undefined : checkRecord(record)
  }

  /** The uppermost view that changed the key. */
  #holderOf(name: string): ShardView | undefined {
    if (this.#records.has(name)) return this
    return this.#below === undefined ? undefined : this.#below.#holderOf(name)
  }

  /** The effects are in the store now: whoever looks through this view finds them there. */
  release(): void {
    this.#below = undefined
    this.#records.clear()
    this.#finished.clear()
  }

  putRecord(key: Buffer, record: DocumentRecord): void {
    this.#records.set(key.toString('latin1'), record)
    this.#effects.push({ type: 'put', key: documentKey(key), value: record })
  }

  deleteRecord(key: Buffer): void {
    this.#records.set(key.toString('latin1'), undefined)
    this.#effects.push({ type: 'del', key: documentKey(key) })
  }

  /** Other keyspaces are written blindly and never read back within a group. */
  put(key: Buffer, value: Uint8Array): void {
    this.#effects.push({ type: 'put', key, value })
  }

  del(key: Buffer): void {
    this.#effects.push({ type: 'del', key })
  }

  /** How a transaction ended, if it did and that is still remembered. */
  finished(transactionId: TransactionId): Decision | undefined {
    const unwritten = this.#finishedInView(transactionId)
    if (unwritten !== undefined) return unwritten
    const mark = this.#store.get(finishedKey(transactionId))
    return mark === undefined ? undefined : decodeFinishedMark(mark)
  }

  #finishedInView(transactionId: TransactionId): Decision | undefined {
    const own = this.#finished.get(transactionId)
    if (own !== undefined || this.#below === undefined) return own
    return this.#below.#finishedInView(transactionId)
  }

  /** Takes back all effects but the first `count`; marks come last and are never among them. */
  truncate(count: number): void {
    if (this.#effects.length === count) return
    this.#effects.length = count
    this.#records.clear()
    for (const effect of this.#effects) {
      if (effect.key[0] !== KEYSPACES.documents) continue
      const record = effect.type === 'put' ? Buffer.from(effect.value) : undefined
      this.#records.set(keyOfDocumentKey(Buffer.from(effect.key)).toString('latin1'), record)
    }
  }

  markFinished(transactionId: TransactionId, decision: Decision): void {
    this.#finished.set(transactionId, decision)
    this.put(finishedKey(transactionId), encodeFinishedMark(decision))
  }
}
