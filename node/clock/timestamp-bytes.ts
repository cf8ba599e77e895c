// Timestamps as eight bytes, big-endian. Each write makes and reads several, and Buffer's own functions
// take a big integer apart with arithmetic of big integers; a view of eight bytes does not.

import { timestampOf, type Timestamp } from './hybrid-clock.ts'

const TIMESTAMP_BYTES = 8
const SCRATCH = new Uint8Array(TIMESTAMP_BYTES)
const VIEW = new DataView(SCRATCH.buffer)

/** Answers the offset behind it. */
export function writeTimestamp(out: Uint8Array, value: Timestamp, at: number): number {
  VIEW.setBigUint64(0, value)
  out.set(SCRATCH, at)
  return at + TIMESTAMP_BYTES
}

/** `bytes` has eight bytes at `at`. */
export function readTimestamp(bytes: Uint8Array, at: number): Timestamp {
  for (let i = 0; i < TIMESTAMP_BYTES; i++) SCRATCH[i] = bytes[at + i] ?? 0
  return timestampOf(VIEW.getBigUint64(0))
}
