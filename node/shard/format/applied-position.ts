// How far the log has been applied to the store, in the same write as the effects. Described in
// docs/reference/formats/shard.md.

import type { LogPosition } from '../../journal/log-position.ts'
import type { KvStore } from '../../storage/kv-store.ts'
import { ByteReader, ByteWriter } from './byte-codec.ts'
import { APPLIED_KEY } from './keyspace.ts'

const FORMAT_WITHOUT_ORDINAL = 1
const FORMAT = 2
/** Without the byte that tells of a part. Programs that do not know that byte leave it unread. */
const LENGTH = 19
const PART_FOLLOWS = 1

export const LOG_START: LogPosition = { sequence: 0, epoch: 0, crc: 0 }

/** The end of the log as the store holds it. */
export interface AppliedPosition extends LogPosition {
  /** The ordinal for the next new document, above every ordinal in the effects of the log so far. */
  readonly nextOrdinal: number
}

export const NOTHING_APPLIED: AppliedPosition = { ...LOG_START, nextOrdinal: 0 }

/** How far a store has been written. */
export function storedPosition(store: Pick<KvStore, 'get'>): AppliedPosition {
  const stored = store.get(APPLIED_KEY)
  return stored === undefined ? NOTHING_APPLIED : decodeApplied(stored)
}

export function encodeApplied({ sequence, epoch, crc, nextOrdinal }: AppliedPosition): Buffer {
  return new ByteWriter().u8(FORMAT).u48(sequence).u32(epoch).u32(crc).u32(nextOrdinal).done()
}

/** For a store that has a part of the entry behind the position. */
export function encodeAppliedWithPart(applied: AppliedPosition): Buffer {
  return Buffer.concat([encodeApplied(applied), Buffer.of(PART_FOLLOWS)])
}

/** Whether the store has a part of the entry behind the position, as `bytes` say. */
export function hasPart(bytes: Buffer): boolean {
  return bytes[LENGTH] === PART_FOLLOWS
}

export function decodeApplied(bytes: Buffer): AppliedPosition {
  const isOld = bytes[0] === FORMAT_WITHOUT_ORDINAL
  const reader = new ByteReader(bytes, 'applied position')
  reader.format(isOld ? FORMAT_WITHOUT_ORDINAL : FORMAT)
  const position = { sequence: reader.u48(), epoch: reader.u32(), crc: reader.u32() }
  return { ...position, nextOrdinal: isOld ? 0 : reader.u32() }
}
