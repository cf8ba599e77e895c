// The body of a journal entry: the effects of one command on one shard. Described in docs/reference/formats/shard.md.

import { unreachable } from '../../../lib/assert.ts'
import { ServiceError } from '../../../lib/errors.ts'
import { StepMeter, type Sliced } from '../../../lib/sliced.ts'
import type { Timestamp } from '../../clock/hybrid-clock.ts'
import type { Effect } from './effect.ts'
import {
  decodeTransactionId,
  encodeTransactionId,
  TRANSACTION_ID_BYTES,
  type TransactionId,
} from '../command/transaction-id.ts'
import { ByteReader, ByteWriter } from './byte-codec.ts'
import { headerBytesOf, headerOf, jsonOf, type DocumentRecord } from './document-record.ts'
import { CODE_BY_KIND, kindOfCode, type EntryKind } from './log-entry.ts'

const FORMAT = 1
const PUT = 1
const DEL = 2
const DOCUMENT = 3
const PROMOTE = 4
const RETIME = 5
const FLAG_OVERWRITES = 1
/** Longer values are handed on as they are; shorter ones are copied into the bytes around them. */
const OWN_PART_BYTES = 8192
/** The bytes of the head, and of an effect without its key and value. */
const FIRST_PART_BYTES = 96
/** The bytes around long values become a part of their own at this length: a growing buffer is copied. */
const SMALL_PART_BYTES = 512 * 1024
/** Bytes copied in about a millisecond, and what an effect costs beside its bytes. */
const BYTES_PER_STEP = 512 * 1024
const EFFECT_COST = 512

/** The facts of a log entry that all its effects share. */
export interface EntryHead {
  readonly kind: EntryKind
  readonly stamp: Timestamp
  /** The version of every document written; equals `stamp` unless a transaction chose it. */
  readonly version: Timestamp
}

/** The effect as the log has it. It refers to bytes that another record of the store holds already. */
export type LoggedEffect =
  | Extract<Effect, { kind: 'put' | 'del' }>
  | {
      readonly kind: 'document'
      readonly key: Buffer
      readonly previous: Timestamp | undefined
      readonly record: DocumentRecord
    }
  | {
      readonly kind: 'promote'
      readonly key: Buffer
      readonly previous: Timestamp | undefined
      readonly header: Buffer
      readonly intentOf: TransactionId
    }
  | { readonly kind: 'retime'; readonly key: Buffer; readonly header: Buffer }

/** A body as the journal writes it: its parts in order, and their length together in bytes. */
export interface EncodedBody {
  readonly parts: readonly Uint8Array[]
  readonly length: number
}

/** The body in parts that lie one behind the other. Long values are not copied. */
export function* encodeBody(head: EntryHead, effects: readonly Effect[]): Sliced<EncodedBody> {
  const parts = beginBody(head, effects)
  const meter = new StepMeter(BYTES_PER_STEP)
  for (const effect of effects) {
    writeEffect(parts, effect)
    parts.split()
    if (meter.spend(EFFECT_COST + sizeOf(effect))) yield
  }
  return parts.done()
}

/** The same for a few effects of short values, without a generator: most writes are like that. */
export function encodeShortBody(head: EntryHead, effects: readonly Effect[]): EncodedBody {
  const parts = beginBody(head, effects)
  for (const effect of effects) writeEffect(parts, effect)
  return parts.done()
}

function beginBody({ kind, stamp, version }: EntryHead, effects: readonly Effect[]): PartWriter {
  const [first] = effects
  const parts = new PartWriter(first === undefined ? 0 : first.key.length + sizeOf(first))
  parts.small.u8(FORMAT).u8(CODE_BY_KIND[kind]).timestamp(stamp).timestamp(version)
  parts.small.u32(effects.length)
  return parts
}

function sizeOf(effect: Effect): number {
  switch (effect.kind) {
    case 'put':
      return effect.value.length
    case 'del':
    case 'retime':
      return 0
    case 'document':
      return effect.intentOf === undefined ? effect.record.length : 0
    default:
      return unreachable(effect)
  }
}

function writeEffect(parts: PartWriter, effect: Effect): void {
  const { small } = parts
  switch (effect.kind) {
    case 'put':
      small.u8(PUT).shortBytes(effect.key).u32(effect.value.length)
      return parts.value(effect.value)
    case 'del':
      small.u8(DEL).shortBytes(effect.key)
      return
    case 'retime':
      small.u8(RETIME).shortBytes(effect.key).raw(headerOf(effect.record))
      return
    case 'document': {
      const { key, previous, record, intentOf } = effect
      small.u8(intentOf === undefined ? DOCUMENT : PROMOTE)
      small.u8(previous === undefined ? 0 : FLAG_OVERWRITES).shortBytes(key)
      if (previous !== undefined) small.timestamp(previous)
      small.raw(headerOf(record))
      if (intentOf !== undefined) {
        small.raw(encodeTransactionId(intentOf))
        return
      }
      const json = jsonOf(record)
      small.u32(json.length)
      return parts.value(json)
    }
    default:
      return unreachable(effect)
  }
}

/** Small fields go into one growing buffer, long values between two of them. */
class PartWriter {
  small: ByteWriter
  readonly #parts: Uint8Array[] = []
  #length = 0

  /** `firstBytes` is what the first effect takes, roughly. */
  constructor(firstBytes: number) {
    this.small = new ByteWriter(FIRST_PART_BYTES + Math.min(firstBytes, OWN_PART_BYTES))
  }

  value(bytes: Uint8Array): void {
    if (bytes.length < OWN_PART_BYTES) {
      this.small.raw(bytes)
      return
    }
    this.#endSmall()
    this.#add(bytes)
  }

  /** Called between two effects. */
  split(): void {
    if (this.small.length >= SMALL_PART_BYTES) this.#endSmall()
  }

  done(): EncodedBody {
    this.#endSmall()
    return { parts: this.#parts, length: this.#length }
  }

  #endSmall(): void {
    this.#add(this.small.done())
    this.small = new ByteWriter()
  }

  #add(part: Uint8Array): void {
    if (part.length === 0) return
    this.#parts.push(part)
    this.#length += part.length
  }
}

/** Reads the head, and answers a walk over the effects behind it. */
export function decodeBody(bytes: Buffer): {
  readonly head: EntryHead
  readonly effects: IterableIterator<LoggedEffect>
} {
  const reader = new ByteReader(bytes, 'journal entry').format(FORMAT)
  const kind = kindOfCode(reader.u8())
  const head = { kind, stamp: reader.timestamp(), version: reader.timestamp() }
  return { head, effects: readEffects(reader, reader.u32()) }
}

function* readEffects(reader: ByteReader, count: number): IterableIterator<LoggedEffect> {
  for (let at = 0; at < count; at++) yield readEffect(reader)
}

function readEffect(reader: ByteReader): LoggedEffect {
  const code = reader.u8()
  switch (code) {
    case PUT:
      return { kind: 'put', key: reader.shortBytes(), value: reader.raw(reader.u32()) }
    case DEL:
      return { kind: 'del', key: reader.shortBytes() }
    case RETIME:
      return { kind: 'retime', key: reader.shortBytes(), header: readHeader(reader) }
    case DOCUMENT:
    case PROMOTE:
      return readDocument(reader, code === PROMOTE)
    default:
      throw new ServiceError('CORRUPTION', `journal entry: unknown effect ${code}`)
  }
}

function readDocument(reader: ByteReader, isPromoted: boolean): LoggedEffect {
  const overwrites = (reader.u8() & FLAG_OVERWRITES) !== 0
  const key = reader.shortBytes()
  const previous = overwrites ? reader.timestamp() : undefined
  const header = readHeader(reader)
  if (isPromoted) {
    const intentOf = decodeTransactionId(reader.raw(TRANSACTION_ID_BYTES))
    return { kind: 'promote', key, previous, header, intentOf }
  }
  const json = reader.raw(reader.u32())
  return { kind: 'document', key, previous, record: Buffer.concat([header, json]) }
}

function readHeader(reader: ByteReader): Buffer {
  return reader.raw(headerBytesOf(reader.peek()))
}
