// Frames: the parts of messages inside records. Format: docs/reference/formats/peer-protocol.md.

import { ServiceError, type ErrorCode } from '../../../lib/errors.ts'
import { isErrorCode } from './error-codes.ts'

export const FRAME_HEAD_BYTES = 12
/** A frame carries at most this much of a message, so that other messages get their turn. */
export const FRAME_BODY_BYTES_MAX = 64 * 1024
/** The length of a message before its first bytes. */
const TOTAL_BYTES = 4
export const OPENING_BYTES = 8
const REASON_BYTES_MAX = 4096

export const FRAME = {
  open: 1,
  data: 2,
  oneWay: 3,
  end: 4,
  credit: 5,
  cancel: 6,
  failure: 7,
  ping: 8,
  goodbye: 9,
} as const
export type FrameType = (typeof FRAME)[keyof typeof FRAME]

/** The frame holds the first bytes of a message, and the length of the whole before them. */
export const FIRST = 1
/** The handler did not run and will not run. */
export const NOTHING_HAPPENED = 2

/** What the caller wants of an operation. */
const CALL_KINDS = ['call', 'stream', 'upload'] as const
export type CallKind = (typeof CALL_KINDS)[number]

/** The head of a frame, and a view of its body. */
export interface Frame {
  readonly type: number
  readonly flags: number
  /** The operation of `open` and `oneWay`; 0 otherwise. */
  readonly code: number
  readonly stream: number
  readonly body: Buffer
}

/** Where a frame's head goes, and what it says. */
export interface FrameHead extends Omit<Frame, 'body'> {
  readonly length: number
}

export function writeFrameHead(out: Buffer, at: number, head: FrameHead): void {
  out[at] = head.type
  out[at + 1] = head.flags
  out.writeUInt16BE(head.code, at + 2)
  out.writeUInt32BE(head.stream, at + 4)
  out.writeUInt32BE(head.length, at + 8)
}

/** A whole frame that is not a part of a message. */
export function encodeFrame({ type, flags = 0, stream = 0, body }: ShortFrame): Buffer {
  const length = body?.length ?? 0
  const out = Buffer.allocUnsafe(FRAME_HEAD_BYTES + length)
  writeFrameHead(out, 0, { type, flags, code: 0, stream, length })
  if (body !== undefined) out.set(body, FRAME_HEAD_BYTES)
  return out
}

/** The fields of a frame that is not a part of a message. */
export interface ShortFrame {
  readonly type: FrameType
  readonly flags?: number
  readonly stream?: number
  readonly body?: Buffer
}

/** Calls `onFrame` with each frame of a record. Throws CORRUPTION if they do not fill it exactly. */
export function decodeFrames(record: Buffer, onFrame: (frame: Frame) => void): void {
  let at = 0
  while (at < record.length) {
    if (record.length - at < FRAME_HEAD_BYTES) throw malformed('the head of a frame is cut off')
    const length = record.readUInt32BE(at + 8)
    const bodyAt = at + FRAME_HEAD_BYTES
    if (length > record.length - bodyAt) throw malformed('a frame is longer than its record')
    onFrame({
      type: record.readUInt8(at),
      flags: record.readUInt8(at + 1),
      code: record.readUInt16BE(at + 2),
      stream: record.readUInt32BE(at + 4),
      body: record.subarray(bodyAt, bodyAt + length),
    })
    at = bodyAt + length
  }
}

/** The other side does not keep to the protocol. The connection ends. */
export function malformed(what: string): ServiceError {
  return new ServiceError('CORRUPTION', `peer protocol: ${what}`)
}

/** The length of the message, in the body of its first frame, and the bytes behind it. */
export function splitTotal(body: Buffer): { readonly total: number; readonly bytes: Buffer } {
  if (body.length < TOTAL_BYTES) throw malformed('a message without a length')
  return { total: body.readUInt32BE(), bytes: body.subarray(TOTAL_BYTES) }
}

/** What the body of `open` has before the message: the kind of call, and the caller's deadline. */
export interface Opening {
  readonly kind: CallKind
  /** Undefined: none. */
  readonly timeoutMs: number | undefined
}

/** The time is rounded up. 0 stands for none, because a call without time left is not sent. */
export function encodeOpening({ kind, timeoutMs }: Opening): Buffer {
  const out = Buffer.alloc(OPENING_BYTES)
  out[0] = CALL_KINDS.indexOf(kind)
  const ms = timeoutMs === undefined ? 0 : Math.min(0xffff_ffff, Math.max(1, Math.ceil(timeoutMs)))
  out.writeUInt32BE(ms, 4)
  return out
}

export function decodeOpening(body: Buffer): Opening {
  if (body.length < OPENING_BYTES) throw malformed('a call without a head')
  const kind = CALL_KINDS[body.readUInt8()]
  if (kind === undefined) throw malformed('a call of an unknown kind')
  const ms = body.readUInt32BE(4)
  return { kind, timeoutMs: ms === 0 ? undefined : ms }
}

export function encodeU32(value: number): Buffer {
  const out = Buffer.allocUnsafe(4)
  out.writeUInt32BE(value)
  return out
}

export function decodeU32(body: Buffer): number {
  if (body.length !== 4) throw malformed('a number that has not four bytes')
  return body.readUInt32BE()
}

/** A failure as a frame carries it. */
export interface Failure {
  readonly code: ErrorCode
  readonly message: string
}

/** The code in ASCII, a zero, the message. Long messages are cut. */
export function encodeFailure({ code, message }: Failure): Buffer {
  return Buffer.concat([Buffer.from(`${code}\0`), Buffer.from(message)]).subarray(
    0,
    REASON_BYTES_MAX,
  )
}

/** A code of a later version, which we do not know, is INTERNAL. */
export function decodeFailure(body: Buffer): Failure {
  const end = body.indexOf(0)
  if (end < 0) throw malformed('a failure without a code')
  const text = body.toString('latin1', 0, end)
  const message = body.toString('utf8', end + 1, Math.min(body.length, REASON_BYTES_MAX))
  return isErrorCode(text)
    ? { code: text, message }
    : { code: 'INTERNAL', message: `${text}: ${message}` }
}
