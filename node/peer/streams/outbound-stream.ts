import { must } from '../../../lib/assert.ts'
import { FIRST, FRAME, FRAME_BODY_BYTES_MAX, encodeU32 } from '../wire/frame-codec.ts'
import type { FrameHead, FrameType } from '../wire/frame-codec.ts'
import { MESSAGE_COST_BYTES } from '../peer-limits.ts'

/** What one side may have queued on a stream before it waits for the connection. */
const ROOM_BYTES = 256 * 1024
/** The stream has not sent anything, so the other side does not know it. */
const UNNUMBERED = -1

/** A message on its way out. */
export interface OutboundMessage {
  readonly type: FrameType
  readonly code: number
  readonly body: Uint8Array
  /** What comes before the message in its first frame. Called when that is written. */
  readonly opening?: () => Buffer
  /** Called when the last byte was put into a record. */
  readonly onWritten?: () => void
}

/** A frame that is ready to be written: its head, and its body in parts. */
export interface Piece {
  readonly head: FrameHead
  readonly parts: readonly Uint8Array[]
}

/** Streams get their numbers when their first frame is written, so the numbers grow on the wire. */
export type NumberStream = () => number

/** One direction of a stream, at its sender: messages in order, as far as the reader's credit goes. */
export class OutboundStream {
  readonly urgent: boolean
  /** True while the send queue has the stream in a ring. */
  isQueued = false
  #number: number
  #credit: number
  #messages: OutboundMessage[] = []
  /** Bytes of the first message that were written. Undefined before its first frame. */
  #sent: number | undefined
  #queuedBytes = 0
  /** Called when the end is written. Undefined: more messages may follow. */
  #onEnded: (() => void) | undefined
  #room: PromiseWithResolvers<void> | undefined
  /** Makes the error of `room`. An error is costly, and most calls end with nobody in there. */
  #stopped: (() => unknown) | undefined

  constructor(options: {
    readonly urgent: boolean
    readonly credit: number
    readonly number?: number
  }) {
    this.urgent = options.urgent
    this.#credit = options.credit
    this.#number = options.number ?? UNNUMBERED
  }

  get number(): number {
    return this.#number
  }

  /** Whether the other side may know of it. */
  get hasBegun(): boolean {
    return this.#number !== UNNUMBERED
  }

  get queuedBytes(): number {
    return this.#queuedBytes
  }

  push(message: OutboundMessage): void {
    if (this.#stopped !== undefined) return
    this.#messages.push(message)
    this.#queuedBytes += message.body.length + MESSAGE_COST_BYTES
  }

  /** No more messages follow those that are queued. Calls `onEnded` when the end is written. */
  end(onEnded: () => void = () => undefined): void {
    if (this.#stopped === undefined) this.#onEnded = onEnded
  }

  /** Resolves when little enough is queued. Rejects with the error of `stop`. */
  room(): Promise<void> {
    if (this.#stopped !== undefined) return Promise.reject(this.#stopped())
    if (this.#queuedBytes < ROOM_BYTES) return Promise.resolve()
    this.#room ??= Promise.withResolvers()
    return this.#room.promise
  }

  /** Drops what is queued. Nothing more is sent. */
  stop(errorOf: () => unknown): void {
    this.#stopped = errorOf
    this.#messages = []
    this.#queuedBytes = 0
    this.#onEnded = undefined
    this.#room?.reject(errorOf())
    this.#room = undefined
  }

  grant(bytes: number): void {
    this.#credit += bytes
  }

  get isSendable(): boolean {
    const [message] = this.#messages
    if (message === undefined) return this.#onEnded !== undefined
    if (this.#sent === undefined) return this.#credit >= MESSAGE_COST_BYTES
    return this.#credit > 0
  }

  /** The next frame. Call it only while `isSendable`. */
  take(numberStream: NumberStream): Piece {
    const [message] = this.#messages
    if (message === undefined) {
      const onEnded = must(this.#onEnded, 'the end of a stream')
      this.#onEnded = undefined
      onEnded()
      return { head: this.#head(FRAME.end, 0, 0), parts: [] }
    }
    if (!this.hasBegun) this.#number = numberStream()
    const { parts, flags } = this.#beginning(message)
    const sent = this.#sent ?? 0
    const length = Math.min(FRAME_BODY_BYTES_MAX, message.body.length - sent, this.#credit)
    parts.push(message.body.subarray(sent, sent + length))
    this.#credit -= length
    this.#sent = sent + length
    if (this.#sent === message.body.length) this.#finish(message)
    const bytes = parts.reduce((sum, part) => sum + part.length, 0)
    return { head: { ...this.#head(message.type, flags, bytes), code: message.code }, parts }
  }

  #beginning({ body, opening }: OutboundMessage): { parts: Uint8Array[]; flags: number } {
    if (this.#sent !== undefined) return { parts: [], flags: 0 }
    this.#credit -= MESSAGE_COST_BYTES
    const total = encodeU32(body.length)
    return { parts: opening === undefined ? [total] : [opening(), total], flags: FIRST }
  }

  #head(type: FrameType, flags: number, length: number): FrameHead {
    return { type, flags, code: 0, stream: this.#number, length }
  }

  #finish(message: OutboundMessage): void {
    must(this.#messages.shift(), 'the message that was sent')
    this.#sent = undefined
    this.#queuedBytes -= message.body.length + MESSAGE_COST_BYTES
    message.onWritten?.()
    if (this.#room === undefined || this.#queuedBytes >= ROOM_BYTES) return
    this.#room.resolve()
    this.#room = undefined
  }
}
