import type { DocumentRecord } from '../format/document-record.ts'
import type { Effect } from '../format/effect.ts'
import type { Decision } from '../command/command.ts'
import { ORDINAL_END, versionOf } from '../format/document-record.ts'
import { documentKey, finishedKey } from '../format/keyspace.ts'
import { encodeFinishedMark } from '../format/transaction-record.ts'
import { nameOf, OverlayLayer, type ShardOverlay } from './shard-overlay.ts'
import type { TransactionId } from '../command/transaction-id.ts'

/** Longer records are read again when they move to history, instead of being kept until then. */
const KEPT_RECORD_BYTES = 64 * 1024
/** The limit of all records that one command keeps. */
const KEPT_BYTES_MAX = 4 * 1024 * 1024

/**
 * The shard's state as one command sees it: the store, what earlier commands made of it, and its own
 * effects on top. Nobody else sees those before the command has ended; a command that fails leaves none.
 */
export class CommandView {
  readonly layer = new OverlayLayer()
  readonly effects: Effect[] = []
  readonly #overlay: ShardOverlay
  #keptBytes = 0
  #replacedBytes = 0
  #bytes = 0
  #nextOrdinal: number

  constructor(overlay: ShardOverlay, nextOrdinal: number) {
    this.#overlay = overlay
    this.#nextOrdinal = nextOrdinal
  }

  /** The ordinal for the first new document of the next command. */
  get nextOrdinal(): number {
    return this.#nextOrdinal
  }

  /** For a new document; undefined when the shard has given all of them (docs/reference/formats/shard.md). */
  takeOrdinal(): number | undefined {
    if (this.#nextOrdinal >= ORDINAL_END) return undefined
    this.#nextOrdinal += 1
    return this.#nextOrdinal - 1
  }

  /** A rough size of the effects in memory, in bytes. */
  get bytes(): number {
    return this.#bytes + this.#keptBytes
  }

  /** The newest record under a document key, tombstones included. */
  record(key: Buffer): DocumentRecord | undefined {
    const own = this.layer.records
    if (own.size > 0) {
      const name = nameOf(key)
      if (own.has(name)) return own.get(name)
    }
    return this.#overlay.newest(key)
  }

  /** How a transaction ended; undefined if it is undecided or its finished mark was collected. */
  finished(transactionId: TransactionId): Decision | undefined {
    return this.layer.finished?.get(transactionId) ?? this.#overlay.newestFinish(transactionId)
  }

  /** Readers may see the records of this command before they are durable (O2 of shard-overlay.ts). */
  showAtOnce(): void {
    this.layer.visible = new Map()
  }

  /** The bytes of the record that the last `replace` moved to history. */
  get replacedBytes(): number {
    return this.#replacedBytes
  }

  /** Replaces the newest record; `previous` is the one that is there, and moves to history. */
  replace(
    key: Buffer,
    record: DocumentRecord,
    { previous, intentOf }: { previous: DocumentRecord | undefined; intentOf?: TransactionId },
  ): void {
    this.#replacedBytes = previous?.length ?? 0
    const isKept = previous !== undefined && this.#mayKeep(previous)
    this.#add(
      {
        kind: 'document',
        key,
        record,
        previous: previous === undefined ? undefined : versionOf(previous),
        previousRecord: isKept ? previous : undefined,
        intentOf,
      },
      record.length,
    )
    this.#setRecord(key, record)
  }

  #setRecord(key: Buffer, record: DocumentRecord | undefined): void {
    const name = nameOf(key)
    this.layer.records.set(name, record)
    this.layer.visible?.set(name, record)
  }

  #mayKeep({ length }: DocumentRecord): boolean {
    if (length > KEPT_RECORD_BYTES || this.#keptBytes + length > KEPT_BYTES_MAX) return false
    this.#keptBytes += length
    return true
  }

  /** Gives the newest record another expiry. */
  retime(key: Buffer, record: DocumentRecord): void {
    this.#add({ kind: 'retime', key, record }, record.length)
    this.#setRecord(key, record)
  }

  /** Removes the newest record without a trace: a tombstone that nobody needs any more. */
  dropRecord(key: Buffer): void {
    this.#add({ kind: 'del', key: documentKey(key) }, 0)
    this.#setRecord(key, undefined)
  }

  /** Other keyspaces are written blindly, and never read back while their effects are unapplied. */
  put(key: Buffer, value: Uint8Array): void {
    this.#add({ kind: 'put', key, value }, value.length)
  }

  del(key: Buffer): void {
    this.#add({ kind: 'del', key }, 0)
  }

  markFinished(transactionId: TransactionId, decision: Decision): void {
    this.layer.finished ??= new Map()
    this.layer.finished.set(transactionId, decision)
    this.put(finishedKey(transactionId), encodeFinishedMark(decision))
  }

  #add(effect: Effect, valueBytes: number): void {
    this.effects.push(effect)
    this.#bytes += effect.key.length + valueBytes
  }
}
