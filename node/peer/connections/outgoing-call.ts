import { ServiceError } from '../../../lib/errors.ts'
import { encodeOpening, FRAME } from '../wire/frame-codec.ts'
import type { CallKind, Frame } from '../wire/frame-codec.ts'
import { InboundStream } from '../streams/inbound-stream.ts'
import type { LargeMessages } from '../streams/large-messages.ts'
import { OutboundStream } from '../streams/outbound-stream.ts'
import type { LaneTerms } from '../peer-limits.ts'

/** What becomes of a call. One of `onEnd` and `onError` comes, once and last. */
export interface CallEvents {
  /** A part of a streamed answer, or the only answer. */
  onMessage(message: Buffer, release: () => void): void
  onEnd(): void
  onError(error: unknown): void
}

/** A call to be sent. */
export interface CallPlan {
  readonly kind: CallKind
  readonly operation: number
  readonly body: Uint8Array
  readonly urgent: boolean
  /** The time that is left when the call is sent. */
  readonly remainingMs: () => number | undefined
  readonly events: CallEvents
}

/** How a call reaches its connection. */
export interface CallSurroundings {
  readonly ours: LaneTerms
  readonly theirs: LaneTerms
  readonly large: LargeMessages
  readonly send: {
    wake(): void
    credit(bytes: number): void
    begun(): void
    leave(): void
  }
}

/** One call of a connection, from its caller's view. */
export class OutgoingCall {
  readonly outbound: OutboundStream
  readonly #plan: CallPlan
  readonly #surroundings: CallSurroundings
  readonly #inbound: InboundStream
  #isSettled = false
  /** The other side has ended the call. */
  #isOver = false

  constructor(plan: CallPlan, surroundings: CallSurroundings) {
    const { ours, theirs, large, send } = surroundings
    this.#plan = plan
    this.#surroundings = surroundings
    this.outbound = new OutboundStream({ urgent: plan.urgent, credit: theirs.windowBytes })
    this.#inbound = new InboundStream({
      terms: ours,
      large,
      credit: (bytes) => send.credit(bytes),
      deliver: (message, release) => plan.events.onMessage(message, release),
    })
    this.#pushBody()
  }

  get number(): number {
    return this.outbound.number
  }

  get hasBegun(): boolean {
    return this.outbound.hasBegun
  }

  get isOver(): boolean {
    return this.#isOver
  }

  /** Sends a part of an upload, when there is room for it. */
  async sendPart(body: Uint8Array): Promise<void> {
    if (body.length > this.#surroundings.theirs.messageBytesMax) throw tooLarge(body.length)
    await this.outbound.room()
    this.outbound.push({ type: FRAME.data, code: 0, body })
    this.#surroundings.send.wake()
  }

  /** No more parts follow. */
  endParts(): void {
    this.outbound.end()
    this.#surroundings.send.wake()
  }

  /** The caller has its outcome. */
  get isSettled(): boolean {
    return this.#isSettled
  }

  /** A frame of the answer. */
  take(frame: Frame): void {
    this.#inbound.take(frame)
    if (this.#plan.kind !== 'stream' && this.#inbound.isIdle) this.finish()
  }

  /** The other side has answered everything. */
  finish(): void {
    this.#isOver = true
    if (this.#settle()) this.#plan.events.onEnd()
  }

  /** The other side or the connection failed. */
  fail(error: unknown): void {
    this.#isOver = true
    if (this.#settle()) this.#plan.events.onError(error)
  }

  /** The caller wants no more of it. Only the caller sees the error. */
  leave(error: unknown): void {
    if (!this.#settle()) return
    this.#surroundings.send.leave()
    this.#plan.events.onError(error)
  }

  #pushBody(): void {
    const { kind, operation, body, remainingMs } = this.#plan
    this.outbound.push({
      type: FRAME.open,
      code: operation,
      body,
      opening: () => {
        this.#surroundings.send.begun()
        return encodeOpening({ kind, timeoutMs: remainingMs() })
      },
    })
  }

  #settle(): boolean {
    if (this.#isSettled) return false
    this.#isSettled = true
    this.#inbound.close()
    this.outbound.stop(callEnded)
    return true
  }
}

/** The refusal of a message that the other side would not take. */
export function tooLarge(bytes: number): ServiceError {
  return new ServiceError(
    'PAYLOAD_TOO_LARGE',
    `a message of ${bytes} bytes is too large for a peer`,
  )
}

function callEnded(): ServiceError {
  return new ServiceError('CANCELLED', 'the call has ended')
}
