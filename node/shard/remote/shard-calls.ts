// The calls of a shard between nodes: their numbers, lanes, arguments and answers, as
// docs/reference/formats/shard-calls.md lists them. A new method of Shard gets its row here.

import type { Sliced } from '../../../lib/sliced.ts'
import type { IndexStatus } from '../following/index-health.ts'
import type { IndexPosition, ToldPosition } from '../following/index-position.ts'
import type {
  DecideCommand,
  Decision,
  PrepareCommand,
  PrepareOutcome,
  ResolveCommand,
  TransactionStatus,
  WriteCommand,
  WriteOutcome,
} from '../command/command.ts'
import type { KeyRange } from '../command/key-range.ts'
import type { TransactionId } from '../command/transaction-id.ts'
import type { DocumentRecord } from '../format/document-record.ts'
import type { Timestamp } from '../../clock/hybrid-clock.ts'
import type { HistoryPin, Push, ShardCondition, ShardStats } from '../shard.ts'
import {
  readDocumentKey,
  readPrepare,
  readTransactionId,
  readWrite,
  writePrepare,
  writeTransactionId,
  writeWrite,
} from './wire/command-codec.ts'
import { readIndexStatus, writeIndexStatus } from './wire/index-codec.ts'
import {
  readCondition,
  readDecision,
  readPrepareOutcome,
  readStats,
  readStatus,
  readWriteOutcome,
  writeCondition,
  writePrepareOutcome,
  writeStats,
  writeStatus,
  writeWriteOutcome,
} from './wire/outcome-codec.ts'
import type { WireReader } from './wire/wire-reader.ts'
import type { WireWriter } from './wire/wire-writer.ts'

/** The operations of the peer protocol. Never reuse a number. */
export const OPERATIONS = {
  read: 32,
  readLong: 33,
  scan: 34,
  write: 35,
  writeLong: 36,
  prepare: 37,
  prepareLong: 38,
  decide: 39,
  resolve: 40,
  forget: 41,
  push: 42,
  heartbeat: 43,
  hurry: 44,
  waitForRelease: 45,
  search: 46,
  indexStatus: 47,
  waitForIndexes: 48,
  stats: 49,
  state: 50,
  closedTime: 51,
  readAt: 52,
  scanAt: 53,
  searchHere: 54,
  moment: 55,
  scanNow: 56,
  indexPosition: 57,
  searchFrom: 58,
  artifacts: 59,
  pinHistory: 60,
} as const

/** How one call goes over the wire. `read` checks an argument like a client's request. */
export interface CallCodec<Argument, Answer> {
  readonly operation: number
  /** Whether a call whose outcome is unknown may be made again. */
  readonly isRepeatable: boolean
  /**
   * Whether the call needs the hybrid times of both sides merged. It is refused when one lies too far
   * ahead. Other calls ignore such a time.
   */
  readonly isTimed: boolean
  write(this: void, out: WireWriter, argument: Argument): Sliced<void> | void
  read(this: void, from: WireReader): Sliced<Argument> | Argument
  writeAnswer(this: void, out: WireWriter, answer: Answer): void
  readAnswer(this: void, from: WireReader): Answer
}

/** The answer to `read`. A long record is to be read by `readLong`, beside the lane of short calls. */
export type FoundRecord =
  | { readonly kind: 'absent' }
  | { readonly kind: 'record'; readonly record: DocumentRecord }
  | { readonly kind: 'long' }

/** A transaction's end, and whether the caller waits for it. */
export interface ResolveArgument {
  readonly command: ResolveCommand
  readonly isAwaited: boolean
}

/** How long a caller waits for keys. */
export interface ReleaseArgument {
  readonly transactionId: TransactionId
  readonly timeoutMs: number
}

/** An index, and the log entry that it should have read. */
export interface PositionArgument {
  readonly index: string
  readonly atLeast: number
}

/** The transaction whose record goes, and where it lies. */
export interface ForgetArgument {
  readonly transactionId: TransactionId
  readonly anchor: Buffer
}

const FOUND = { absent: 0, record: 1, long: 2 } as const
const COMMIT = 1
const ABORT = 2

const NOTHING = {
  write: (): void => undefined,
  read: (): undefined => undefined,
} as const

const NO_ANSWER = {
  writeAnswer: (): void => undefined,
  readAnswer: (): undefined => undefined,
} as const

/** The index, and how many of its parked documents to list. */
interface StatusArgument {
  readonly index: string
  readonly parkedMax: number
}

/** The calls with one argument and one answer. */
export interface ShardCalls {
  readonly read: CallCodec<Buffer, FoundRecord>
  readonly moment: CallCodec<KeyRange, Timestamp>
  readonly pinHistory: CallCodec<HistoryPin, undefined>
  readonly write: CallCodec<WriteCommand, WriteOutcome>
  readonly prepare: CallCodec<PrepareCommand, PrepareOutcome>
  readonly decide: CallCodec<DecideCommand, Decision>
  readonly forget: CallCodec<ForgetArgument, undefined>
  readonly push: CallCodec<Push, TransactionStatus>
  readonly heartbeat: CallCodec<TransactionId, undefined>
  readonly waitForRelease: CallCodec<ReleaseArgument, undefined>
  readonly indexPosition: CallCodec<PositionArgument, ToldPosition>
  readonly indexStatus: CallCodec<StatusArgument, IndexStatus>
  readonly waitForIndexes: CallCodec<undefined, undefined>
  readonly stats: CallCodec<undefined, ShardStats>
  readonly state: CallCodec<undefined, ShardCondition>
}

export const SHARD_CALLS: ShardCalls = {
  read: {
    operation: OPERATIONS.read,
    isRepeatable: true,
    isTimed: true,
    write: (out, key) => void out.key(key),
    read: readDocumentKey,
    writeAnswer: writeFound,
    readAnswer: readFound,
  },
  moment: {
    operation: OPERATIONS.moment,
    isRepeatable: true,
    isTimed: true,
    write: writeRange,
    read: readRange,
    writeAnswer: (out, time) => void out.timestamp(time),
    readAnswer: (from) => from.timestamp(),
  },
  pinHistory: {
    operation: OPERATIONS.pinHistory,
    isRepeatable: true,
    isTimed: false,
    write: (out, { reader, at }) => void out.text(reader).timestamp(at),
    read: (from) => ({ reader: from.text(), at: from.timestamp() }),
    ...NO_ANSWER,
  },
  write: {
    operation: OPERATIONS.write,
    isRepeatable: false,
    isTimed: true,
    write: writeWrite,
    read: readWrite,
    writeAnswer: writeWriteOutcome,
    readAnswer: readWriteOutcome,
  },
  prepare: {
    operation: OPERATIONS.prepare,
    isRepeatable: true,
    isTimed: true,
    write: writePrepare,
    read: readPrepare,
    writeAnswer: writePrepareOutcome,
    readAnswer: readPrepareOutcome,
  },
  decide: {
    operation: OPERATIONS.decide,
    isRepeatable: true,
    isTimed: true,
    write: writeDecide,
    read: readDecide,
    writeAnswer: writeStatus,
    readAnswer: readDecision,
  },
  forget: {
    operation: OPERATIONS.forget,
    isRepeatable: true,
    isTimed: false,
    write: (out, { transactionId, anchor }) =>
      void writeTransactionId(out, transactionId).key(anchor),
    read: (from) => ({ transactionId: readTransactionId(from), anchor: readDocumentKey(from) }),
    ...NO_ANSWER,
  },
  push: {
    operation: OPERATIONS.push,
    isRepeatable: true,
    isTimed: true,
    write: (out, { transactionId, anchor, above, expired }) =>
      void writeTransactionId(out, transactionId).key(anchor).timestamp(above).boolean(expired),
    read: readPush,
    writeAnswer: writeStatus,
    readAnswer: readStatus,
  },
  heartbeat: {
    operation: OPERATIONS.heartbeat,
    isRepeatable: true,
    isTimed: false,
    write: (out, transactionId) => void writeTransactionId(out, transactionId),
    read: readTransactionId,
    ...NO_ANSWER,
  },
  waitForRelease: {
    operation: OPERATIONS.waitForRelease,
    isRepeatable: true,
    isTimed: false,
    write: (out, { transactionId, timeoutMs }) =>
      void writeTransactionId(out, transactionId).number(timeoutMs),
    read: (from) => ({ transactionId: readTransactionId(from), timeoutMs: from.amount() }),
    ...NO_ANSWER,
  },
  indexPosition: {
    operation: OPERATIONS.indexPosition,
    isRepeatable: true,
    isTimed: false,
    write: (out, { index, atLeast }) => void out.text(index).number(atLeast),
    read: (from) => ({ index: from.text(), atLeast: from.amount() }),
    writeAnswer: writeToldPosition,
    readAnswer: readToldPosition,
  },
  indexStatus: {
    operation: OPERATIONS.indexStatus,
    isRepeatable: true,
    isTimed: false,
    write: (out, { index, parkedMax }) => void out.text(index).number(parkedMax),
    read: (from) => ({ index: from.text(), parkedMax: from.amount() }),
    writeAnswer: writeIndexStatus,
    readAnswer: readIndexStatus,
  },
  waitForIndexes: {
    operation: OPERATIONS.waitForIndexes,
    isRepeatable: true,
    isTimed: false,
    ...NOTHING,
    ...NO_ANSWER,
  },
  stats: {
    operation: OPERATIONS.stats,
    isRepeatable: true,
    isTimed: false,
    ...NOTHING,
    writeAnswer: writeStats,
    readAnswer: readStats,
  },
  state: {
    operation: OPERATIONS.state,
    isRepeatable: true,
    isTimed: false,
    ...NOTHING,
    writeAnswer: writeCondition,
    readAnswer: readCondition,
  },
}

export function writePosition(out: WireWriter, { version, sequence }: IndexPosition): void {
  out.number(version).number(sequence)
}

export function readPosition(from: WireReader): IndexPosition {
  return { version: from.amount(), sequence: from.amount() }
}

function writeToldPosition(out: WireWriter, told: ToldPosition): void {
  writePosition(out, told)
  out.number(told.behind)
}

function readToldPosition(from: WireReader): ToldPosition {
  return { ...readPosition(from), behind: from.amount() }
}

function writeFound(out: WireWriter, found: FoundRecord): void {
  out.u8(FOUND[found.kind])
  if (found.kind === 'record') out.raw(found.record)
}

function readFound(from: WireReader): FoundRecord {
  const kind = from.oneOf([FOUND.absent, FOUND.record, FOUND.long])
  if (kind === FOUND.record) return { kind: 'record', record: from.rest() }
  return { kind: kind === FOUND.absent ? 'absent' : 'long' }
}

function writeDecide(out: WireWriter, command: DecideCommand): void {
  writeTransactionId(out, command.transactionId).key(command.anchor)
  out.u8(command.decision === 'commit' ? COMMIT : ABORT).timestamp(command.commitAtLeast)
}

function readDecide(from: WireReader): DecideCommand {
  return {
    transactionId: readTransactionId(from),
    anchor: readDocumentKey(from),
    decision: from.oneOf([COMMIT, ABORT]) === COMMIT ? 'commit' : 'abort',
    commitAtLeast: from.timestamp(),
  }
}

function readPush(from: WireReader): Push {
  return {
    transactionId: readTransactionId(from),
    anchor: readDocumentKey(from),
    above: from.timestamp(),
    expired: from.boolean(),
  }
}

export function writeResolve(out: WireWriter, { command, isAwaited }: ResolveArgument): void {
  writeTransactionId(out, command.transactionId)
  writeStatus(out, command.decision)
  out.boolean(isAwaited)
}

export function readResolve(from: WireReader): ResolveArgument {
  const transactionId = readTransactionId(from)
  const command = { transactionId, decision: readDecision(from) }
  return { command, isAwaited: from.boolean() }
}

/** A range of keys at one timestamp. */
export interface ScanArgument {
  readonly range: KeyRange
  readonly at: Push['above']
}

export function writeScan(out: WireWriter, { range, at }: ScanArgument): void {
  out.timestamp(at)
  writeRange(out, range)
}

export function readScan(from: WireReader): ScanArgument {
  const at = from.timestamp()
  return { at, range: readRange(from) }
}

export function writeRange(out: WireWriter, { start, end }: KeyRange): void {
  out.key(start).boolean(end !== undefined)
  if (end !== undefined) out.key(end)
}

export function readRange(from: WireReader): KeyRange {
  const start = from.key()
  return { start, end: from.boolean() ? from.key() : undefined }
}
