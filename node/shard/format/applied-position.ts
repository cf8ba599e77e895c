// How far the log has been applied to the store, in the same write as the effects. Described in
// docs/formats/shard.md.

import { ByteReader, ByteWriter } from './byte-codec.ts'

const FORMAT = 1

/** An entry of a log, and what the next one must be chained to. */
export interface LogPosition {
  readonly sequence: number
  readonly epoch: number
  readonly crc: number
}

export const LOG_START: LogPosition = { sequence: 0, epoch: 0, crc: 0 }

export function encodeApplied({ sequence, epoch, crc }: LogPosition): Buffer {
  return new ByteWriter().u8(FORMAT).u48(sequence).u32(epoch).u32(crc).done()
}

export function decodeApplied(bytes: Buffer): LogPosition {
  const reader = new ByteReader(bytes, 'applied position').format(FORMAT)
  return { sequence: reader.u48(), epoch: reader.u32(), crc: reader.u32() }
}
