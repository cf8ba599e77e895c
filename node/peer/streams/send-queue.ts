import { FRAME_HEAD_BYTES, writeFrameHead } from '../wire/frame-codec.ts'
import type { NumberStream, OutboundStream, Piece } from './outbound-stream.ts'
import { RECORD_BYTES_MAX } from '../wire/record-codec.ts'

/** The frames of one record, not yet written. */
export interface RecordPlan {
  readonly length: number
  write(frames: Buffer): void
}

/**
 * What a connection has to send: first short frames about streams, then urgent streams, then the
 * others. Streams of one kind take turns, a frame each.
 */
export class SendQueue {
  readonly #numberStream: NumberStream
  #short: Buffer[] = []
  #shortBytes = 0
  #urgent: OutboundStream[] = []
  #normal: OutboundStream[] = []

  constructor(numberStream: NumberStream) {
    this.#numberStream = numberStream
  }

  get isEmpty(): boolean {
    return this.#short.length === 0 && this.#urgent.length === 0 && this.#normal.length === 0
  }

  /** Short frames that wait, in bytes. */
  get shortBytes(): number {
    return this.#shortBytes
  }

  /** Sends a frame before all messages. */
  addShort(frame: Buffer): void {
    this.#short.push(frame)
    this.#shortBytes += frame.length
  }

  /** To be called after each change of a stream that may have made it sendable. */
  wake(stream: OutboundStream): void {
    if (stream.isQueued || !stream.isSendable) return
    stream.isQueued = true
    const ring = stream.urgent ? this.#urgent : this.#normal
    ring.push(stream)
  }

  /** The next record. Undefined if nothing can be sent. */
  plan(): RecordPlan | undefined {
    const short: Buffer[] = []
    let length = 0
    for (const frame of this.#short) {
      if (length + frame.length > RECORD_BYTES_MAX) break
      short.push(frame)
      length += frame.length
    }
    this.#shortBytes -= length
    this.#short = this.#short.length === short.length ? [] : this.#short.slice(short.length)
    const pieces: Piece[] = []
    for (const ring of [this.#urgent, this.#normal]) {
      length = this.#takePieces(ring, pieces, length)
    }
    if (length === 0) return undefined
    return { length, write: (frames) => writeFrames(frames, short, pieces) }
  }

  #takePieces(ring: OutboundStream[], pieces: Piece[], before: number): number {
    let length = before
    let turns = 0
    // The ring is cut once at the end: `shift` on each turn would move all the others.
    while (turns < ring.length && length + PIECE_BYTES_MAX <= RECORD_BYTES_MAX) {
      const stream = ring[turns++]
      if (stream === undefined) break
      stream.isQueued = false
      if (!stream.isSendable) continue // it was stopped meanwhile
      const piece = stream.take(this.#numberStream)
      pieces.push(piece)
      length += FRAME_HEAD_BYTES + piece.head.length
      this.wake(stream)
    }
    ring.splice(0, turns)
    return length
  }
}

/** A frame of a message with all that comes before the message's bytes, and room to spare. */
const PIECE_BYTES_MAX = 64 * 1024 + 64

function writeFrames(out: Buffer, short: readonly Buffer[], pieces: readonly Piece[]): void {
  let at = 0
  for (const frame of short) {
    out.set(frame, at)
    at += frame.length
  }
  for (const { head, parts } of pieces) {
    writeFrameHead(out, at, head)
    at += FRAME_HEAD_BYTES
    for (const part of parts) {
      out.set(part, at)
      at += part.length
    }
  }
}
