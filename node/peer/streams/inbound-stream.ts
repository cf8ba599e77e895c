// One direction of a stream, at its reader.
//
// Invariants:
//   PI1  The bytes that the reader holds for a stream are at most its window, and what was reserved for
//        a large message. More than that is a fault of the sender, and the connection ends.
//   PI2  A large message is reserved as a whole before more than a window of it may come. So messages
//        that are under way always end, and cannot wait for each other.

import { FIRST, malformed, splitTotal } from '../wire/frame-codec.ts'
import type { Frame } from '../wire/frame-codec.ts'
import type { LargeMessages, Reservation } from './large-messages.ts'
import { MESSAGE_COST_BYTES } from '../peer-limits.ts'
import type { LaneTerms } from '../peer-limits.ts'

/** A view of more than this share of a record is kept; a smaller one is copied, to free the record. */
const VIEW_SHARE = 0.5

/** What a stream's reader does with what comes. */
export interface InboundOptions {
  readonly terms: LaneTerms
  readonly large: LargeMessages
  /** Lets the sender send more. */
  credit(bytes: number): void
  /** A whole message. `release` says that its memory is free again. It may be called twice. */
  deliver(message: Buffer, release: () => void): void
}

/** A message of which bytes are missing. */
interface Partial {
  readonly total: number
  buffer: Buffer | undefined
  /** Bytes that came before the memory for the message was reserved. */
  early: Buffer[]
  filled: number
  reservation: Reservation | undefined
}

/** The reader of one direction of a stream. */
export class InboundStream {
  readonly #options: InboundOptions
  #window: number
  #owed = 0
  #partial: Partial | undefined
  readonly #reservations = new Set<Reservation>()
  #isClosed = false

  constructor(options: InboundOptions) {
    this.#options = options
    this.#window = options.terms.windowBytes
  }

  /** Takes a frame of a message. Throws CORRUPTION if the sender breaks a rule. */
  take({ flags, body }: Pick<Frame, 'flags' | 'body'>): void {
    if ((flags & FIRST) === 0) return this.#takeMore(body)
    if (this.#partial !== undefined) throw malformed('a message inside another one')
    const { total, bytes } = splitTotal(body)
    if (total > this.#options.terms.messageBytesMax) throw malformed(`a message of ${total} bytes`)
    if (bytes.length > total) throw malformed('more bytes than the message has')
    this.#spend(MESSAGE_COST_BYTES + bytes.length)
    if (bytes.length === total) return this.#deliver(ownBytes(bytes), undefined)
    this.#begin(total, bytes)
  }

  /** Forgets what is incomplete, and frees what was reserved. What comes later is thrown away. */
  close(): void {
    this.#isClosed = true
    this.#partial = undefined
    for (const reservation of this.#reservations) reservation.release()
    this.#reservations.clear()
  }

  get isIdle(): boolean {
    return this.#partial === undefined
  }

  #begin(total: number, bytes: Buffer): void {
    const partial: Partial = {
      total,
      buffer: undefined,
      early: [],
      filled: 0,
      reservation: undefined,
    }
    this.#partial = partial
    const cost = total + MESSAGE_COST_BYTES
    if (cost <= this.#options.terms.windowBytes) {
      partial.buffer = Buffer.allocUnsafe(total)
      this.#payOwed() // the sender may lack just that for the rest of the message
    } else if (!this.#isClosed) {
      partial.reservation = this.#options.large.reserve(cost, () => this.#onReserved(partial, cost))
      this.#reservations.add(partial.reservation)
    }
    this.#append(partial, bytes)
  }

  #onReserved(partial: Partial, cost: number): void {
    if (this.#isClosed) return
    const buffer = Buffer.allocUnsafe(partial.total)
    let at = 0
    for (const piece of partial.early) {
      buffer.set(piece, at)
      at += piece.length
    }
    partial.early = []
    partial.buffer = buffer
    this.#window += cost
    this.#options.credit(cost)
  }

  #takeMore(bytes: Buffer): void {
    const partial = this.#partial
    if (partial === undefined) {
      if (this.#isClosed) return
      throw malformed('the middle of a message without its beginning')
    }
    if (partial.filled + bytes.length > partial.total) {
      throw malformed('more bytes than the message has')
    }
    this.#spend(bytes.length)
    this.#append(partial, bytes)
    if (partial.filled < partial.total) return
    this.#partial = undefined
    if (partial.buffer !== undefined) this.#deliver(partial.buffer, partial.reservation)
  }

  #append(partial: Partial, bytes: Buffer): void {
    if (partial.buffer !== undefined) partial.buffer.set(bytes, partial.filled)
    else if (!this.#isClosed) partial.early.push(Buffer.from(bytes))
    partial.filled += bytes.length
  }

  #spend(bytes: number): void {
    this.#window -= bytes
    if (this.#window < 0) throw malformed('more bytes than the window takes')
  }

  #deliver(message: Buffer, reservation: Reservation | undefined): void {
    if (this.#isClosed) return
    let isReleased = false
    this.#options.deliver(message, () => {
      if (isReleased) return
      isReleased = true
      this.#release(message.length + MESSAGE_COST_BYTES, reservation)
    })
  }

  #release(cost: number, reservation: Reservation | undefined): void {
    if (this.#isClosed) return
    if (reservation !== undefined) {
      this.#reservations.delete(reservation)
      return reservation.release()
    }
    this.#owed += cost
    if (this.#partial !== undefined || this.#owed * 2 >= this.#options.terms.windowBytes) {
      this.#payOwed()
    }
  }

  /** Half a window at a time, so that small messages do not cost a frame each. */
  #payOwed(): void {
    if (this.#owed === 0) return
    this.#window += this.#owed
    this.#options.credit(this.#owed)
    this.#owed = 0
  }
}

function ownBytes(bytes: Buffer): Buffer {
  return bytes.length >= bytes.buffer.byteLength * VIEW_SHARE ? bytes : Buffer.from(bytes)
}
