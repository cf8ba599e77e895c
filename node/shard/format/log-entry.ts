// One entry of a shard's log: what a command touched, not what it wrote. With one replica the
// documents lie beside the entry in the same atomic batch, so the log need not repeat them: index
// consumers read the document by key, and the collector learns here what was overwritten.
// Described in docs/formats/shard.md.

import type { Timestamp } from '../../clock/hybrid-clock.ts'
import { ByteReader, ByteWriter } from './byte-codec.ts'
import type { CommandKind } from '../apply/command.ts'

const FORMAT = 1
const TOUCH_DELETED = 1
const TOUCH_OVERWRITES = 2

/** One document that an entry changed. */
export interface Touch {
  readonly key: Buffer
  readonly deleted: boolean
  /** The version that moved to history, when there was one. */
  readonly previous: Timestamp | undefined
}

export interface LogEntry {
  readonly kind: CommandKind
  readonly stamp: Timestamp
  /** The version of every touched document; equals `stamp` unless a transaction chose it. */
  readonly version: Timestamp
  readonly touches: readonly Touch[]
}

// The numbers are part of the disk format: add, never change.
const CODE_BY_KIND: Record<CommandKind, number> = {
  write: 1,
  prepare: 2,
  decide: 3,
  resolve: 4,
  forget: 5,
  abandon: 6,
  expire: 7,
  retime: 8,
  collect: 9,
  sync: 10,
}

export function encodeLogEntry({ kind, stamp, version, touches }: LogEntry): Buffer {
  const writer = new ByteWriter()
    .u8(FORMAT)
    .u8(CODE_BY_KIND[kind])
    .timestamp(stamp)
    .timestamp(version)
    .u32(touches.length)
  for (const { key, deleted, previous } of touches) {
    const overwrites = previous === undefined ? 0 : TOUCH_OVERWRITES
    writer.u8((deleted ? TOUCH_DELETED : 0) | overwrites).shortBytes(key)
    if (previous !== undefined) writer.timestamp(previous)
  }
  return writer.done()
}

export function decodeLogEntry(bytes: Buffer): LogEntry {
  const reader = new ByteReader(bytes, 'log entry').format(FORMAT)
  const kind = kindOfCode(reader.u8())
  const stamp = reader.timestamp()
  const version = reader.timestamp()
  const touches = Array.from({ length: reader.u32() }, () => readTouch(reader))
  return { kind, stamp, version, touches }
}

function readTouch(reader: ByteReader): Touch {
  const flags = reader.u8()
  const key = reader.shortBytes()
  return {
    key,
    deleted: (flags & TOUCH_DELETED) !== 0,
    previous: (flags & TOUCH_OVERWRITES) !== 0 ? reader.timestamp() : undefined,
  }
}

function kindOfCode(code: number): CommandKind {
  const kinds: readonly CommandKind[] = [
    'write',
    'prepare',
    'decide',
    'resolve',
    'forget',
    'abandon',
    'expire',
    'retime',
    'collect',
    'sync',
  ]
  const kind = kinds.find((candidate) => CODE_BY_KIND[candidate] === code)
  if (kind === undefined) throw new RangeError(`log entry: unknown command ${code}`)
  return kind
}
