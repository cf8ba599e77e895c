// Brings a shard's store up to the end of its log in the journal. It runs at a start, before any other
// reader of the store.

import { must, unreachable } from '../../lib/assert.ts'
import { ServiceError } from '../../lib/errors.ts'
import type { JournalEntry } from '../journal/journal-reader.ts'
import type { LogPosition } from '../journal/log-position.ts'
import type { KvStore } from '../storage/kv-store.ts'
import type { Effect } from './format/effect.ts'
import { checkRecord, jsonOf, type DocumentRecord } from './format/document-record.ts'
import { decodeBody, type LoggedEffect } from './format/entry-body.ts'
import { decodeIntent } from './format/intent-codec.ts'
import { documentKey, intentKey, KEYSPACES } from './format/keyspace.ts'
import { StoreApplier, type OnEntry } from './store-applier.ts'

/** Intents are remembered up to here, so that the next entry finds them without a write to the store. */
const INTENT_BYTES_MAX = 4 * 1024 * 1024

/** The number of entries that a replay applied, and the last entry of the log. */
export interface Replayed {
  readonly entries: number
  readonly position: LogPosition
}

/**
 * Applies the entries behind `from`. Throws CORRUPTION when one is missing, or does not follow from
 * the one before it.
 */
export async function replayLog(
  store: KvStore,
  from: LogPosition,
  pages: AsyncIterable<readonly JournalEntry[]>,
  onEntry?: OnEntry,
): Promise<Replayed> {
  const applier = new StoreApplier(store, onEntry)
  const resolver = new EffectResolver(store, applier)
  let position = from
  let entries = 0
  for await (const page of pages) {
    for (const entry of page) {
      assertFollows(entry, position)
      const { sequence, epoch, crc } = entry
      position = { sequence, epoch, crc }
      const { head, effects } = decodeBody(entry.body)
      await resolver.makeRoom()
      await applier.add({ position, head, effects: resolver.resolve(effects) })
      entries++
    }
    await applier.flush()
    resolver.forgetIntents()
  }
  return { entries, position }
}

function assertFollows({ sequence, previousCrc }: JournalEntry, before: LogPosition): void {
  if (sequence !== before.sequence + 1) {
    throw new ServiceError(
      'CORRUPTION',
      `log entries ${before.sequence + 1} to ${sequence - 1} are missing in the journal; ` +
        'restore the shard from a backup or a replica',
    )
  }
  if (previousCrc === before.crc) return
  throw new ServiceError(
    'CORRUPTION',
    `log entry ${sequence} of the journal does not follow from the one in the shard's store; ` +
      'restore the shard from a backup or a replica',
  )
}

/** Completes a logged effect with the stored records that it refers to. */
class EffectResolver {
  readonly #store: KvStore
  readonly #applier: StoreApplier
  readonly #intents = new Map<string, Uint8Array>()
  #intentBytes = 0

  constructor(store: KvStore, applier: StoreApplier) {
    this.#store = store
    this.#applier = applier
  }

  async makeRoom(): Promise<void> {
    if (this.#intentBytes < INTENT_BYTES_MAX) return
    await this.#applier.flush()
    this.forgetIntents()
  }

  /** Only when the store has them. */
  forgetIntents(): void {
    this.#intents.clear()
    this.#intentBytes = 0
  }

  *resolve(effects: Iterable<LoggedEffect>): IterableIterator<Effect> {
    for (const effect of effects) yield this.#resolve(effect)
  }

  #resolve(effect: LoggedEffect): Effect {
    switch (effect.kind) {
      case 'put':
        if (effect.key[0] === KEYSPACES.intents) this.#remember(effect.key, effect.value)
        return effect
      case 'del':
        return effect
      case 'document':
        return { ...effect, previousRecord: undefined, intentOf: undefined }
      case 'promote':
        return this.#promote(effect)
      case 'retime': {
        const before = must(this.#applier.newest(effect.key), 'the document that is retimed')
        return { ...effect, record: Buffer.concat([effect.header, jsonOf(before)]) }
      }
      default:
        return unreachable(effect)
    }
  }

  #promote({
    key,
    header,
    previous,
    intentOf,
  }: Extract<LoggedEffect, { kind: 'promote' }>): Effect {
    const at = intentKey(key, intentOf)
    const stored = this.#intents.get(at.toString('latin1')) ?? this.#store.get(at)
    const record =
      stored === undefined ? this.#promoted(key) : recordOf(header, Buffer.from(stored))
    return { kind: 'document', key, record, previous, previousRecord: undefined, intentOf }
  }

  /** The intent is gone: its record is in place, because a part of this entry was applied before. */
  #promoted(key: Buffer): DocumentRecord {
    return checkRecord(must(this.#store.get(documentKey(key)), 'the document of a promoted intent'))
  }

  #remember(key: Buffer, value: Uint8Array): void {
    this.#intents.set(key.toString('latin1'), value)
    this.#intentBytes += key.length + value.length
  }
}

function recordOf(header: Buffer, intent: Buffer): DocumentRecord {
  const { op } = decodeIntent(intent)
  return op.kind === 'put' ? Buffer.concat([header, op.json]) : header
}
