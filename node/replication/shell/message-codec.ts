// The bytes of replication messages. Described in docs/reference/formats/replication-messages.md.

import { unreachable } from '../../../lib/assert.ts'
import { ServiceError } from '../../../lib/errors.ts'
import { timestampOf, type Timestamp } from '../../clock/hybrid-clock.ts'
import { decodeRow, encodeLogId, ROW_BYTES, type LogId } from '../../journal/journal-format.ts'
import type { EncodedEntry } from '../../journal/received-entries.ts'
import type { ClosedPoint } from '../core/messages.ts'
import type { EntryInfo, LogPosition } from '../core/log-index.ts'
import type { AppendMessage, ReplicationMessage } from '../core/messages.ts'

const FORMAT = 1
const HEAD_BYTES = 26
const POSITION_BYTES = 14
const CLOSED_BYTES = 14
const APPEND_BYTES = POSITION_BYTES + 24 + CLOSED_BYTES
const APPENDED_BYTES = 20
const NOTHING_CLOSED: ClosedPoint = { time: 0n, sequence: 0 }
const ROUND_BYTES = 4
const REFUSED_BYTES = POSITION_BYTES + 1

// The numbers are part of the protocol: add, never change.
const CODE_BY_KIND: Record<ReplicationMessage['kind'], number> = {
  append: 1,
  appended: 2,
  mismatch: 3,
  stale: 4,
  release: 5,
  ping: 6,
  pong: 7,
  closed: 8,
  refused: 9,
}

const KIND_BY_CODE: ReadonlyMap<number, ReplicationMessage['kind']> = new Map([
  [CODE_BY_KIND.append, 'append'],
  [CODE_BY_KIND.appended, 'appended'],
  [CODE_BY_KIND.mismatch, 'mismatch'],
  [CODE_BY_KIND.stale, 'stale'],
  [CODE_BY_KIND.release, 'release'],
  [CODE_BY_KIND.ping, 'ping'],
  [CODE_BY_KIND.pong, 'pong'],
  [CODE_BY_KIND.closed, 'closed'],
  [CODE_BY_KIND.refused, 'refused'],
])

/** Who sends a message, and when. */
export interface Envelope {
  readonly logId: LogId
  /** The life of the sending node. */
  readonly incarnation: number
  /** The sender's hybrid time, which the receiver observes. */
  readonly hybridTime: Timestamp
}

/** An `append` has the entries beside it: rows and bodies as the leader's journal has them. */
export interface Received {
  readonly envelope: Envelope
  readonly message: Exclude<ReplicationMessage, AppendMessage> | ReceivedAppend
}

/** An `append` whose entries nobody has checked yet. */
export interface ReceivedAppend extends Omit<AppendMessage, 'entries'> {
  readonly entries: readonly EncodedEntry[]
}

/** An entry as it is sent: its row and the parts of its body. */
export interface SentEntry {
  readonly row: Buffer
  readonly body: readonly Uint8Array[]
}

/** `entries` are those of an `append`; other messages have none. */
export function encodeMessage(
  envelope: Envelope,
  message: Exclude<ReplicationMessage, AppendMessage> | Omit<AppendMessage, 'entries'>,
  entries: readonly SentEntry[] = [],
): Buffer {
  const head = Buffer.allocUnsafe(HEAD_BYTES + bytesOf(message))
  head.writeUInt8(FORMAT, 0)
  head.writeUInt8(CODE_BY_KIND[message.kind], 1)
  encodeLogId(envelope.logId).copy(head, 2)
  head.writeUInt32BE(envelope.incarnation, 10)
  head.writeBigUInt64BE(envelope.hybridTime, 14)
  head.writeUInt32BE(message.epoch, 22)
  writeFields(head, message, entries.length)
  if (entries.length === 0) return head
  return Buffer.concat([head, ...entries.map(({ row }) => row), ...entries.flatMap(bodyOf)])
}

function bodyOf({ body }: SentEntry): readonly Uint8Array[] {
  return body
}

function bytesOf(message: Parameters<typeof encodeMessage>[1]): number {
  switch (message.kind) {
    case 'append':
      return APPEND_BYTES
    case 'appended':
      return APPENDED_BYTES
    case 'mismatch':
      return POSITION_BYTES
    case 'refused':
      return REFUSED_BYTES
    case 'ping':
    case 'pong':
      return ROUND_BYTES
    case 'closed':
      return CLOSED_BYTES
    case 'stale':
    case 'release':
      return 0
    default:
      return unreachable(message)
  }
}

function writeFields(
  head: Buffer,
  message: Parameters<typeof encodeMessage>[1],
  count: number,
): void {
  switch (message.kind) {
    case 'append': {
      const at = writePosition(head, message.previous)
      head.writeUIntBE(message.committed, at, 6)
      head.writeDoubleBE(message.sentMs, at + 6)
      head.writeUIntBE(message.logEnd, at + 14, 6)
      head.writeUInt32BE(count, at + 20)
      writeClosed(head, message.closed ?? NOTHING_CLOSED, at + 24)
      return
    }
    case 'appended':
      head.writeUIntBE(message.durable, HEAD_BYTES, 6)
      head.writeDoubleBE(message.sentMs, HEAD_BYTES + 6)
      head.writeUIntBE(message.logEnd, HEAD_BYTES + 14, 6)
      return
    case 'mismatch':
      writePosition(head, message.hint)
      return
    case 'refused':
      head.writeUInt8(message.isCommitted ? 1 : 0, writePosition(head, message.held))
      return
    case 'ping':
    case 'pong':
      head.writeUInt32BE(message.round, HEAD_BYTES)
      return
    case 'closed':
      writeClosed(head, message.point, HEAD_BYTES)
      return
    case 'stale':
    case 'release':
      return
    default:
      return unreachable(message)
  }
}

function writePosition(head: Buffer, { sequence, epoch, crc }: LogPosition): number {
  head.writeUIntBE(sequence, HEAD_BYTES, 6)
  head.writeUInt32BE(epoch, HEAD_BYTES + 6)
  return head.writeUInt32BE(crc, HEAD_BYTES + 10)
}

function writeClosed(head: Buffer, { time, sequence }: ClosedPoint, at: number): void {
  head.writeBigUInt64BE(time, at)
  head.writeUIntBE(sequence, at + 8, 6)
}

/** The shard whose replicas a message is for. Throws INVALID_ARGUMENT for damaged bytes. */
export function shardOfMessage(bytes: Buffer): LogId {
  if (bytes.length < HEAD_BYTES || bytes[0] !== FORMAT) throw damaged('its head is not readable')
  return bytes.toString('hex', 2, 10)
}

/** Throws INVALID_ARGUMENT for damaged bytes. The entries refer to `bytes`. */
export function decodeMessage(bytes: Buffer): Received {
  const logId = shardOfMessage(bytes)
  const kind = KIND_BY_CODE.get(bytes.readUInt8(1))
  const envelope = {
    logId,
    incarnation: bytes.readUInt32BE(10),
    hybridTime: timestampOf(bytes.readBigUInt64BE(14)),
  }
  try {
    return { envelope, message: readMessage(bytes, kind) }
  } catch (error) {
    if (error instanceof RangeError) throw damaged('it is too short')
    throw error
  }
}

function readMessage(
  bytes: Buffer,
  kind: ReplicationMessage['kind'] | undefined,
): Received['message'] {
  const epoch = bytes.readUInt32BE(22)
  switch (kind) {
    case 'append':
      return readAppend(bytes, epoch)
    case 'appended': {
      const sentMs = bytes.readDoubleBE(HEAD_BYTES + 6)
      const logEnd = bytes.readUIntBE(HEAD_BYTES + 14, 6)
      const message = { kind, epoch, durable: bytes.readUIntBE(HEAD_BYTES, 6), sentMs, logEnd }
      return ended(bytes, HEAD_BYTES + APPENDED_BYTES, message)
    }
    case 'mismatch': {
      const message = { kind, epoch, hint: readPosition(bytes) } as const
      return ended(bytes, HEAD_BYTES + POSITION_BYTES, message)
    }
    case 'refused': {
      const isCommitted = bytes.readUInt8(HEAD_BYTES + POSITION_BYTES) === 1
      const message = { kind, epoch, held: readPosition(bytes), isCommitted } as const
      return ended(bytes, HEAD_BYTES + REFUSED_BYTES, message)
    }
    case 'ping':
    case 'pong': {
      const message = { kind, epoch, round: bytes.readUInt32BE(HEAD_BYTES) } as const
      return ended(bytes, HEAD_BYTES + ROUND_BYTES, message)
    }
    case 'closed': {
      const point = readClosed(bytes, HEAD_BYTES)
      if (point === undefined) throw damaged('it closes no time')
      return ended(bytes, HEAD_BYTES + CLOSED_BYTES, { kind, epoch, point } as const)
    }
    case 'stale':
    case 'release':
      return ended(bytes, HEAD_BYTES, { kind, epoch } as const)
    case undefined:
      throw damaged('its kind is unknown')
    default:
      return unreachable(kind)
  }
}

function ended<Message>(bytes: Buffer, end: number, message: Message): Message {
  if (bytes.length !== end) throw damaged(`it has ${bytes.length} bytes instead of ${end}`)
  return message
}

function readAppend(bytes: Buffer, epoch: number): ReceivedAppend {
  const at = HEAD_BYTES + POSITION_BYTES
  const count = bytes.readUInt32BE(at + 20)
  let rowAt = HEAD_BYTES + APPEND_BYTES
  let bodyAt = rowAt + count * ROW_BYTES
  if (bodyAt > bytes.length) throw damaged('it has fewer rows than it says')
  const entries: EncodedEntry[] = []
  for (let i = 0; i < count; i++) {
    const row = bytes.subarray(rowAt, rowAt + ROW_BYTES)
    const end = bodyAt + decodeRow(row).length
    if (end > bytes.length) throw damaged('the body of an entry is cut off')
    entries.push({ row, body: bytes.subarray(bodyAt, end) })
    rowAt += ROW_BYTES
    bodyAt = end
  }
  return ended(bytes, bodyAt, {
    kind: 'append',
    epoch,
    previous: readPosition(bytes),
    entries,
    committed: bytes.readUIntBE(at, 6),
    sentMs: bytes.readDoubleBE(at + 6),
    logEnd: bytes.readUIntBE(at + 14, 6),
    closed: readClosed(bytes, at + 24),
  })
}

function readClosed(bytes: Buffer, at: number): ClosedPoint | undefined {
  const time = bytes.readBigUInt64BE(at)
  return time === 0n ? undefined : { time, sequence: bytes.readUIntBE(at + 8, 6) }
}

function readPosition(bytes: Buffer): LogPosition {
  const sequence = bytes.readUIntBE(HEAD_BYTES, 6)
  const epoch = bytes.readUInt32BE(HEAD_BYTES + 6)
  return { sequence, epoch, crc: bytes.readUInt32BE(HEAD_BYTES + 10) }
}

/** What the core knows of an entry, read from its row. */
export function infoOfRow(row: Buffer): EntryInfo {
  const { sequence, epoch, crc, length } = decodeRow(row)
  return { sequence, epoch, crc, bytes: length }
}

function damaged(what: string): ServiceError {
  return new ServiceError('INVALID_ARGUMENT', `a replication message is damaged: ${what}`)
}
