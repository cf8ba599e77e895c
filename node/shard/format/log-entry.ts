// One entry of a shard's log: what a command touched, not what it wrote. With one replica the
// documents lie beside the entry in the same atomic batch, so the log need not repeat them: index
// consumers read the document by key, and the collector learns here what was overwritten.
// Described in docs/reference/formats/shard.md.

import { ServiceError } from '../../../lib/errors.ts'
import { StepMeter, type Sliced } from '../../../lib/sliced.ts'
import type { Timestamp } from '../../clock/hybrid-clock.ts'
import { ByteReader, ByteWriter } from './byte-codec.ts'
import type { CommandKind } from '../command/command.ts'

/** All touches are of documents. Replicas of earlier versions write the same bytes, which are compared with ours. */
const FORMAT_DOCUMENTS = 1
/** A touch says whether document or artifacts changed. */
const FORMAT_PARTS = 2
const TOUCH_DELETED = 1
const TOUCH_OVERWRITES = 2
const TOUCH_ARTIFACTS = 4
const TOUCH_NO_DOCUMENT = 8
const HEAD_BYTES = 22
/** At most, beside the key. */
const TOUCH_BYTES = 11
/** Written in about a millisecond. */
const TOUCHES_PER_STEP = 4000
/** The cost of adding up the length of a touch, in written touches. */
const TOUCH_SIZED = 0.1

/** What an entry changed under a key. */
export type TouchedPart = 'document' | 'artifacts' | 'both'

/** One document that an entry changed, or its artifacts. */
export interface Touch {
  readonly key: Buffer
  readonly changed: TouchedPart
  readonly deleted: boolean
  /** The version that moved to history, when there was one. */
  readonly previous: Timestamp | undefined
}

/** `lead` is the first entry of a leadership, which no command makes. It has no effects. */
export type EntryKind = CommandKind | 'lead'

/** An entry of the shard's log as the store keeps it: the touched documents without their JSON. */
export interface LogEntry {
  readonly kind: EntryKind
  readonly stamp: Timestamp
  /** The version of every touched document; equals `stamp` unless a transaction chose it. */
  readonly version: Timestamp
  readonly touches: readonly Touch[]
}

/** Was `sync` in data directories of format 1: nothing refers to it, and its entries touch nothing. */
const CODE_OF_SYNC = 10

// The numbers are part of the disk format: add, never change.
export const CODE_BY_KIND: Record<EntryKind, number> = {
  write: 1,
  prepare: 2,
  decide: 3,
  resolve: 4,
  forget: 5,
  abandon: 6,
  expire: 7,
  retime: 8,
  collect: 9,
  number: 11,
  lead: 12,
  enrich: 13,
}

export function encodeLogEntry(entry: LogEntry): Buffer {
  const writer = new ByteWriter()
  writeHead(writer, entry)
  for (const touch of entry.touches) writeTouch(writer, touch)
  return writer.done()
}

/** For entries of many touches. */
export function* encodeLogEntryInSteps(entry: LogEntry): Sliced<Buffer> {
  const { touches } = entry
  const meter = new StepMeter(TOUCHES_PER_STEP)
  let capacity = HEAD_BYTES
  for (const { key } of touches) {
    capacity += TOUCH_BYTES + key.length
    if (meter.spend(TOUCH_SIZED)) yield
  }
  const writer = new ByteWriter(capacity)
  writeHead(writer, entry)
  for (const touch of touches) {
    writeTouch(writer, touch)
    if (meter.spend(1)) yield
  }
  return writer.done()
}

function writeHead(writer: ByteWriter, { kind, stamp, version, touches }: LogEntry): void {
  const isOfDocuments = touches.every(({ changed }) => changed === 'document')
  writer
    .u8(isOfDocuments ? FORMAT_DOCUMENTS : FORMAT_PARTS)
    .u8(CODE_BY_KIND[kind])
    .timestamp(stamp)
    .timestamp(version)
    .u32(touches.length)
}

const FLAGS_BY_PART: Record<TouchedPart, number> = {
  document: 0,
  artifacts: TOUCH_ARTIFACTS | TOUCH_NO_DOCUMENT,
  both: TOUCH_ARTIFACTS,
}

function writeTouch(writer: ByteWriter, { key, changed, deleted, previous }: Touch): void {
  const overwrites = previous === undefined ? 0 : TOUCH_OVERWRITES
  writer.u8((deleted ? TOUCH_DELETED : 0) | overwrites | FLAGS_BY_PART[changed]).shortBytes(key)
  if (previous !== undefined) writer.timestamp(previous)
}

export function decodeLogEntry(bytes: Buffer): LogEntry {
  const { touches, ...header } = openLogEntry(bytes)
  return { ...header, touches: [...touches] }
}

/** An entry of perhaps many touches: those are read one by one, as they are asked for, and only once. */
export interface OpenedLogEntry extends Omit<LogEntry, 'touches'> {
  readonly touches: IterableIterator<Touch>
}

export function openLogEntry(bytes: Buffer): OpenedLogEntry {
  const reader = new ByteReader(bytes, 'log entry')
  reader.oneOfFormats([FORMAT_DOCUMENTS, FORMAT_PARTS])
  const kind = kindOfCode(reader.u8())
  const stamp = reader.timestamp()
  const version = reader.timestamp()
  return { kind, stamp, version, touches: readTouches(reader) }
}

function* readTouches(reader: ByteReader): Generator<Touch, undefined> {
  const count = reader.u32()
  for (let i = 0; i < count; i++) yield readTouch(reader)
}

function readTouch(reader: ByteReader): Touch {
  const flags = reader.u8()
  const key = reader.shortBytes()
  return {
    key,
    changed: changedOf(flags),
    deleted: (flags & TOUCH_DELETED) !== 0,
    previous: (flags & TOUCH_OVERWRITES) !== 0 ? reader.timestamp() : undefined,
  }
}

function changedOf(flags: number): TouchedPart {
  if ((flags & TOUCH_ARTIFACTS) === 0) return 'document'
  return (flags & TOUCH_NO_DOCUMENT) === 0 ? 'both' : 'artifacts'
}

const KIND_BY_CODE = new Map(Object.entries(CODE_BY_KIND).map(([kind, code]) => [code, kind]))

export function kindOfCode(code: number): EntryKind {
  const kind = code === CODE_OF_SYNC ? 'forget' : KIND_BY_CODE.get(code)
  if (kind === undefined || !isEntryKind(kind)) {
    throw new ServiceError('CORRUPTION', `log entry: unknown command ${code}`)
  }
  return kind
}

function isEntryKind(text: string): text is EntryKind {
  return Object.hasOwn(CODE_BY_KIND, text)
}
