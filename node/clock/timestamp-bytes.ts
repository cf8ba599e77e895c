// Timestamps as eight bytes, big-endian. Each write encodes and decodes several. Buffer's own
// functions split a bigint by bigint arithmetic; a DataView does not.

import { timestampOf, type Timestamp } from './hybrid-clock.ts'

const TIMESTAMP_BYTES = 8
const SCRATCH = new Uint8Array(TIMESTAMP_BYTES)
const VIEW = new DataView(SCRATCH.buffer)

/** Answers the offset behind the timestamp. */
export function writeTimestamp(out: Uint8Array, value: Timestamp, at: number): number {
  VIEW.setBigUint64(0, value)
  out.set(SCRATCH, at)
  return at + TIMESTAMP_BYTES
}

/** `bytes` has at least eight bytes from `at`. */
export function readTimestamp(bytes: Uint8Array, at: number): Timestamp {
  for (let i = 0; i < TIMESTAMP_BYTES; i++) SCRATCH[i] = bytes[at + i] ?? 0
  return timestampOf(VIEW.getBigUint64(0))
}
