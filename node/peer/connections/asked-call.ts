import type { CallingSide } from './calling-side.ts'
import type { Deadline, Deadlines } from '../deadlines.ts'
import type { CallKind } from '../wire/frame-codec.ts'
import { tooLarge } from './outgoing-call.ts'
import type { CallEvents, OutgoingCall } from './outgoing-call.ts'
import type { PeerLane } from './peer-lane.ts'
import { TransportError } from '../peer.ts'
import type { Body, Call, CallOptions } from '../peer.ts'

/** A caller's question, and how long it waits for the answer. */
export interface Question {
  readonly kind: CallKind
  readonly call: Call
  readonly options: CallOptions
  readonly events: CallEvents
  /** Called with the call that was opened on a connection. */
  readonly onOpened?: (call: OutgoingCall) => void
}

/** The times that a question keeps. */
export interface Timing {
  readonly deadlines: Deadlines
  nowMs(): number
}

/**
 * A call from the moment its caller asks, also while there is no connection. Its deadline and its
 * signal hold from then on. Its events hear one end.
 */
export class AskedCall implements CallEvents {
  readonly #question: Question
  readonly #timing: Timing
  readonly #endsAtMs: number | undefined
  readonly #onAbort: (() => void) | undefined
  readonly #deadline: Deadline | undefined
  #opened: OutgoingCall | undefined
  #isSettled = false

  constructor(question: Question, timing: Timing) {
    const { timeoutMs, signal } = question.options
    this.#question = question
    this.#timing = timing
    if (timeoutMs !== undefined) {
      this.#endsAtMs = timing.nowMs() + timeoutMs
      this.#deadline = timing.deadlines.after(timeoutMs, () => this.#onLate())
    }
    if (signal === undefined) return
    this.#onAbort = () => this.leave(signal.reason)
    signal.addEventListener('abort', this.#onAbort, { once: true })
  }

  /** Sends it on the lane's connection, or on the one that is being made. */
  begin(lane: PeerLane, waitingMax: number): void {
    const { signal } = this.#question.options
    if (signal?.aborted === true) return this.leave(signal.reason)
    const side = lane.current
    if (side !== undefined) return this.#open(side)
    if (lane.waiting >= waitingMax) {
      const message = 'too many calls wait for a connection'
      return this.onError(new TransportError('OVERLOADED', message, 'nothing'))
    }
    lane.connected().then(
      (connected) => this.#open(connected),
      (error: unknown) => this.onError(error),
    )
  }

  /** The caller leaves, with this error. */
  leave(error: unknown): void {
    if (this.#opened === undefined) this.onError(error)
    else this.#opened.leave(error)
  }

  onMessage(message: Buffer, release: () => void): void {
    this.#question.events.onMessage(message, release)
  }

  onEnd(): void {
    if (this.#settle()) this.#question.events.onEnd()
  }

  onError(error: unknown): void {
    if (this.#settle()) this.#question.events.onError(error)
  }

  #open(side: CallingSide): void {
    if (this.#isSettled) return
    const { kind, call, options, onOpened } = this.#question
    const body = bytesOf(call.body, side.version)
    if (body.length > side.connection.session.theirs.messageBytesMax) {
      return this.onError(tooLarge(body.length))
    }
    this.#opened = side.open({
      kind,
      operation: call.operation,
      body,
      urgent: options.urgent === true,
      remainingMs: () => this.#remainingMs(),
      events: this,
    })
    onOpened?.(this.#opened)
  }

  #remainingMs(): number | undefined {
    return this.#endsAtMs === undefined ? undefined : this.#endsAtMs - this.#timing.nowMs()
  }

  #onLate(): void {
    const happened = this.#opened?.hasBegun === true ? 'unknown' : 'nothing'
    const { timeoutMs = Infinity } = this.#question.options
    const message = `no answer within ${Math.round(timeoutMs)} ms`
    this.leave(new TransportError('DEADLINE_EXCEEDED', message, happened))
  }

  #settle(): boolean {
    if (this.#isSettled) return false
    this.#isSettled = true
    this.#deadline?.cancel()
    const { signal } = this.#question.options
    if (this.#onAbort !== undefined) signal?.removeEventListener('abort', this.#onAbort)
    return true
  }
}

/** The bytes for a connection of this version. */
export function bytesOf(body: Body, version: number): Uint8Array {
  return typeof body === 'function' ? body(version) : body
}
