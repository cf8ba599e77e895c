// Carries durable log entries into the shard's store, after the answers. It writes the store without
// syncs, because the journal still holds the writes that a power failure may take from the store.
//
// Invariants:
//   P1  The store holds the effects of a prefix of the log, and of the entry after it perhaps a part; in
//       the same write as the end of an entry it learns that entry's sequence.
//   P2  An effect that is applied again changes nothing: it finds its own version in place.
//   P3  The next ordinal in the store is above every ordinal in the effects that it holds whole.
//   P4  While the store holds a part of an entry, its applied position says so: a snapshot of the store
//       waits until the entry is whole.

import { setImmediate as nextTurn } from 'node:timers/promises'
import { assert } from '../../lib/assert.ts'
import type { Sliced } from '../../lib/sliced.ts'
import type { LogPosition } from '../journal/log-position.ts'
import type { KvOp, KvStore } from '../storage/kv-store.ts'
import type { DocumentEffect, Effect } from './format/effect.ts'
import {
  checkRecord,
  expiresAtMsOf,
  isDeleted,
  ordinalOf,
  versionOf,
  type DocumentRecord,
} from './format/document-record.ts'
import {
  APPLIED_KEY,
  documentKey,
  expiryKey,
  historyKey,
  intentKey,
  keyOfDocumentKey,
  KEYSPACES,
  logKey,
  parseIndexedKey,
} from './format/keyspace.ts'
import {
  decodeApplied,
  encodeApplied,
  encodeAppliedWithPart,
  NOTHING_APPLIED,
  type AppliedPosition,
} from './format/applied-position.ts'
import { encodeLogEntry, encodeLogEntryInSteps, type Touch } from './format/log-entry.ts'
import type { EntryHead } from './format/entry-body.ts'
import { nameOf } from './apply/shard-overlay.ts'

/** The limits of one write to the store. */
const WRITE_BYTES_MAX = 1024 * 1024
const WRITE_OPS_MAX = 1000
/** An entry of up to 64 KiB is added in one step. */
const SHORT_BYTES_MAX = 64 * 1024

/** A durable log entry with its effects. A replay may read the effects while it applies them. */
export interface AppliedEntry {
  readonly position: LogPosition
  readonly head: EntryHead
  readonly effects: Iterable<Effect>
}

/** The number of an entry and what it touches. */
export type OnEntry = (sequence: number, touches: readonly Touch[]) => void

const EMPTY = Buffer.alloc(0)

/** Writes entries to a store, in order, in writes of bounded size. */
export class StoreApplier {
  readonly #store: KvStore
  #ops: KvOp[] = []
  #bytes = 0
  /** The newest records of the documents in `#ops`, from the first time that one is asked for. */
  #records: Map<string, DocumentRecord> | undefined
  /** The last entry whose effects are all in the store or in `#ops`. */
  #last: LogPosition
  /** Whether `#ops` has the end of an entry. */
  #hasEnd = false
  /** Whether the store or `#ops` has a part of the entry after the last one. */
  #hasPart = false
  #nextOrdinal: number
  readonly #onEntry: OnEntry | undefined

  /** `onEntry` hears of each entry when its effects have been added. */
  constructor(store: KvStore, onEntry?: OnEntry) {
    this.#store = store
    this.#onEntry = onEntry
    const stored = store.get(APPLIED_KEY)
    const applied: AppliedPosition = stored === undefined ? NOTHING_APPLIED : decodeApplied(stored)
    this.#last = applied
    this.#nextOrdinal = applied.nextOrdinal
  }

  /** Without a promise for an entry that needs no pause; `bytes` is what its effects hold, if known. */
  add(entry: AppliedEntry, bytes = Infinity): Promise<void> | undefined {
    const { effects, head } = entry
    const isShort = bytes <= SHORT_BYTES_MAX && Array.isArray(effects) && effects.every(isAtHand)
    if (!isShort || this.#isFull) return this.#addInTurns(entry)
    const touches: Touch[] = []
    for (const effect of effects) this.#apply(effect, head, touches)
    this.#end(entry, encodeLogEntry({ ...head, touches }))
    this.#onEntry?.(entry.position.sequence, touches)
    return undefined
  }

  get #isFull(): boolean {
    return this.#ops.length >= WRITE_OPS_MAX || this.#bytes >= WRITE_BYTES_MAX
  }

  #end({ position }: AppliedEntry, logEntry: Buffer): void {
    this.#put(logKey(position.sequence), logEntry)
    this.#last = position
    this.#hasEnd = true
    this.#hasPart = false
  }

  async #addInTurns(added: AppliedEntry): Promise<void> {
    const { head, effects } = added
    const touches: Touch[] = []
    for (const effect of effects) {
      if (this.#isFull) {
        await this.flush()
        await nextTurn()
      }
      this.#apply(effect, head, touches)
      this.#hasPart = true
    }
    const entry = { ...head, touches }
    const isLong = touches.length > WRITE_OPS_MAX
    const encoded = isLong ? await inTurns(encodeLogEntryInSteps(entry)) : encodeLogEntry(entry)
    this.#end(added, encoded)
    this.#onEntry?.(added.position.sequence, touches)
  }

  /** Writes what was added since the last flush. */
  async flush(): Promise<void> {
    if (this.#hasEnd || this.#hasPart) this.#put(APPLIED_KEY, this.#applied())
    const ops = this.#ops
    this.#ops = []
    this.#bytes = 0
    this.#hasEnd = false
    this.#records = undefined
    if (ops.length > 0) await this.#store.write(ops, { sync: false })
  }

  #applied(): Buffer {
    const applied = { ...this.#last, nextOrdinal: this.#nextOrdinal }
    return this.#hasPart ? encodeAppliedWithPart(applied) : encodeApplied(applied)
  }

  #apply(effect: Effect, { kind }: EntryHead, touches: Touch[]): void {
    switch (effect.kind) {
      case 'put':
        touchArtifacts(effect.key, touches)
        return this.#put(effect.key, effect.value)
      case 'del':
        // A collected artifact was dead: no index has it.
        if (kind !== 'collect') touchArtifacts(effect.key, touches)
        return this.#del(effect.key)
      case 'document':
        return this.#replace(effect, touches)
      case 'retime':
        this.#retime(effect.key, effect.record)
        // The indexes learn ordinals from the log; a changed expiry they compute themselves.
        if (kind !== 'retime') touches.push(documentTouch(effect.key))
    }
  }

  #replace(effect: DocumentEffect, touches: Touch[]): void {
    const { key, record, previous, intentOf } = effect
    if (previous !== undefined) this.#moveToHistory(effect, previous)
    this.#put(documentKey(key), record)
    const expires = expiresAtMsOf(record)
    if (expires !== 0) this.#put(expiryKey(expires, key), EMPTY)
    if (intentOf !== undefined) this.#del(intentKey(key, intentOf))
    this.#remember(key, record)
    touches.push({ ...documentTouch(key), deleted: isDeleted(record), previous })
  }

  #moveToHistory({ key, record, previousRecord }: DocumentEffect, previous: bigint): void {
    const found = previousRecord ?? this.newest(key)
    const version = found === undefined ? undefined : versionOf(found)
    if (version === versionOf(record)) return // P2
    assert(found !== undefined && version === previous, 'P1: the version before is in place')
    this.#put(historyKey(key, versionOf(found)), found)
    const expired = expiresAtMsOf(found)
    if (expired !== 0) this.#del(expiryKey(expired, key))
  }

  #retime(key: Buffer, record: DocumentRecord): void {
    const before = this.newest(key)
    const expired = before === undefined ? 0 : expiresAtMsOf(before)
    const expires = expiresAtMsOf(record)
    if (expired !== 0) this.#del(expiryKey(expired, key))
    if (expires !== 0) this.#put(expiryKey(expires, key), EMPTY)
    this.#put(documentKey(key), record)
    this.#remember(key, record)
  }

  /** The newest record of a document, as it will be in the store. */
  newest(key: Buffer): DocumentRecord | undefined {
    this.#records ??= recordsIn(this.#ops)
    const unwritten = this.#records.get(nameOf(key))
    if (unwritten !== undefined) return unwritten
    const stored = this.#store.get(documentKey(key))
    return stored === undefined ? undefined : checkRecord(stored)
  }

  #remember(key: Buffer, record: DocumentRecord): void {
    const ordinal = ordinalOf(record)
    if (ordinal !== undefined && ordinal >= this.#nextOrdinal) this.#nextOrdinal = ordinal + 1
    this.#records?.set(nameOf(key), record)
  }

  #put(key: Buffer, value: Uint8Array): void {
    this.#ops.push({ type: 'put', key, value })
    this.#bytes += key.length + value.length
  }

  #del(key: Buffer): void {
    this.#ops.push({ type: 'del', key })
    this.#bytes += key.length
  }
}

function documentTouch(key: Buffer): Touch {
  return { key, changed: 'document', deleted: false, previous: undefined }
}

/** The effects on a key's artifacts follow each other, and the one on its document. */
function touchArtifacts(stored: Buffer, touches: Touch[]): void {
  if (stored[0] !== KEYSPACES.artifacts) return
  const { key } = parseIndexedKey(stored)
  const last = touches.at(-1)
  if (last === undefined || !last.key.equals(key)) {
    touches.push({ ...documentTouch(key), changed: 'artifacts' })
  } else if (last.changed === 'document') {
    touches[touches.length - 1] = { ...last, changed: 'both' }
  }
}

/** Whether an effect needs nothing from the store: what it replaces may be long. */
function isAtHand(effect: Effect): boolean {
  if (effect.kind === 'retime') return false
  if (effect.kind !== 'document') return true
  return effect.previous === undefined || effect.previousRecord !== undefined
}

/** The newest record of each document among writes to the store. */
function recordsIn(ops: readonly KvOp[]): Map<string, DocumentRecord> {
  const records = new Map<string, DocumentRecord>()
  for (const op of ops) {
    if (op.key[0] !== KEYSPACES.documents || op.type === 'del') continue
    records.set(nameOf(keyOfDocumentKey(asBuffer(op.key))), asBuffer(op.value))
  }
  return records
}

function asBuffer(bytes: Uint8Array): Buffer {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
}

/** Runs one step in each turn of the event loop, because no caller waits for the result. */
async function inTurns<Result>(work: Sliced<Result>): Promise<Result> {
  for (;;) {
    const step = work.next()
    if (step.done === true) return step.value
    await nextTurn()
  }
}
