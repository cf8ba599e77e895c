import type { KvOp, KvStore } from '../storage/kv-store.ts'
import type { Decision } from './command.ts'
import { checkRecord, type DocumentRecord } from './document-record.ts'
import { documentKey, finishedKey, keyOfDocumentKey, KEYSPACES } from './keyspace.ts'
import type { TransactionId } from './transaction-id.ts'
import { decodeFinishedMark, encodeFinishedMark } from './transaction-record.ts'

/**
 * The shard's state as a group of commands sees it while it is applied: the store below, the
 * group's own effects above. The effects become one atomic batch.
 */
export class ShardView {
  readonly #store: KvStore
  readonly #records = new Map<string, DocumentRecord | undefined>()
  readonly #finished = new Map<TransactionId, Decision>()
  readonly #effects: KvOp[] = []

  constructor(store: KvStore) {
    this.#store = store
  }

  get effects(): readonly KvOp[] {
    return this.#effects
  }

  /** The newest record under a document key, tombstones included. */
  record(key: Buffer): DocumentRecord | undefined {
    if (this.#records.size > 0) {
      const name = key.toString('latin1')
      if (this.#records.has(name)) return this.#records.get(name)
    }
    const record = this.#store.get(documentKey(key))
    return record === undefined ? undefined : checkRecord(record)
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
    const inGroup = this.#finished.get(transactionId)
    if (inGroup !== undefined) return inGroup
    const mark = this.#store.get(finishedKey(transactionId))
    return mark === undefined ? undefined : decodeFinishedMark(mark)
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
