// The calls of one connection, at the node that dialled it.
//
//   waiting ──place──► queued ──first byte──► sent ──answer, failure──► gone
//      └──left──► gone    └──left──► gone      └──left──► leaving ──answer, failure──► gone
//
// Invariants:
//   CS1  At most `streamsMax` calls are sent or leaving: a place is free when the other side is done.
//   CS2  Each call is told one outcome. `nothing` only if no byte of it was sent, or the other side
//        says that no handler ran.

import { ServiceError } from '../../../lib/errors.ts'
import { creditOf, PeerConnection } from './connection.ts'
import type { ConnectionOptions, ConnectionSide } from './connection.ts'
import {
  decodeFailure,
  encodeFrame,
  FRAME,
  malformed,
  NOTHING_HAPPENED,
} from '../wire/frame-codec.ts'
import type { Frame } from '../wire/frame-codec.ts'
import { LargeMessages } from '../streams/large-messages.ts'
import { OutboundStream } from '../streams/outbound-stream.ts'
import { OutgoingCall } from './outgoing-call.ts'
import type { CallPlan } from './outgoing-call.ts'
import { TransportError } from '../peer.ts'
import type { HandshakeStage } from '../wire/handshake-stage.ts'

/** The last number of a stream. A connection that has used it up is replaced by a new one. */
const STREAM_NUMBER_MAX = 2 ** 31

/** How many calls may wait, and how much memory the side has. */
export interface CallingLimits {
  readonly waitingMax: number
  readonly largeBytesMax: number
  readonly sendBytesMax: number
}

/** What the owner of a connection hears. */
export interface CallingEvents {
  /** The connection takes no more calls. Those that run may still end well. */
  onLeaving(reason: string): void
  onLost(reason: string): void
}

/** One connection, for the calls and messages to the node at its other end. */
export class CallingSide implements ConnectionSide {
  readonly connection: PeerConnection
  readonly #limits: CallingLimits
  readonly #events: CallingEvents
  readonly #large: LargeMessages
  readonly #messages: OutboundStream
  readonly #calls = new Map<number, OutgoingCall>()
  /** Calls that have a place, also those that are not numbered yet. */
  readonly #placed = new Set<OutgoingCall>()
  readonly #waiting = new Set<OutgoingCall>()
  #lastNumber = 0
  #isLeaving = false

  constructor(
    options: Omit<ConnectionOptions, 'numberStream'>,
    limits: CallingLimits,
    events: CallingEvents,
  ) {
    this.#limits = limits
    this.#events = events
    this.#large = new LargeMessages(limits.largeBytesMax)
    const numberStream = (): number => (this.#lastNumber += 1)
    this.connection = new PeerConnection({ ...options, numberStream }, this)
    const { windowBytes } = this.connection.session.theirs
    this.#messages = new OutboundStream({ urgent: true, credit: windowBytes, number: 0 })
  }

  get version(): number {
    return this.connection.session.version
  }

  takeOver(stage: HandshakeStage): void {
    stage.handOver(this.connection)
  }

  /** Sends the call as soon as it has a place. Its outcome comes to the plan's events. */
  open(plan: CallPlan): OutgoingCall {
    const { ours, theirs } = this.connection.session
    const call = new OutgoingCall(plan, {
      ours,
      theirs,
      large: this.#large,
      send: {
        wake: () => this.#wake(call),
        credit: (bytes) => this.connection.credit(call.number, bytes),
        begun: () => void this.#calls.set(call.number, call),
        leave: () => this.#leave(call),
      },
    })
    if (this.#placed.size < theirs.streamsMax) this.#place(call)
    else if (this.#waiting.size < this.#limits.waitingMax) this.#waiting.add(call)
    else call.fail(tooMany(this.connection.session.peer))
    return call
  }

  /** One-way. False if too much waits, or the message is too large. */
  send(operation: number, body: Uint8Array): boolean {
    const { messageBytesMax } = this.connection.session.theirs
    const queued = this.#messages.queuedBytes + body.length
    if (queued > this.#limits.sendBytesMax || body.length > messageBytesMax) return false
    this.#messages.push({ type: FRAME.oneWay, code: operation, body })
    this.connection.queue.wake(this.#messages)
    this.connection.schedule()
    return true
  }

  onFrame(frame: Frame): void {
    switch (frame.type) {
      case FRAME.data:
      case FRAME.end:
      case FRAME.failure:
        return this.#answer(frame)
      case FRAME.credit:
        return this.#grant(frame)
      case FRAME.goodbye:
        return this.#retire(`node ${this.connection.session.peer} is closing`)
      default:
        throw malformed(`a frame of type ${frame.type} for a caller`)
    }
  }

  onLost(reason: string): void {
    const { peer } = this.connection.session
    for (const call of [...this.#waiting, ...this.#placed]) {
      const happened = call.hasBegun ? 'unknown' : 'nothing'
      const message = `the connection to node ${peer} was lost: ${reason}`
      call.fail(new TransportError('UNAVAILABLE', message, happened))
    }
    this.#waiting.clear()
    this.#placed.clear()
    this.#calls.clear()
    this.#events.onLost(reason)
  }

  #answer(frame: Frame): void {
    const call = this.#calls.get(frame.stream)
    if (call === undefined) {
      if (frame.stream === 0 || frame.stream > this.#lastNumber) throw malformed('a stray answer')
      return
    }
    if (frame.type === FRAME.data) call.take(frame)
    else if (frame.type === FRAME.end) call.finish()
    else call.fail(errorOf(frame))
    if (call.isOver) this.#free(call)
  }

  #grant(frame: Frame): void {
    const call = this.#calls.get(frame.stream)
    const stream = frame.stream === 0 ? this.#messages : call?.outbound
    stream?.grant(creditOf(frame))
    if (stream !== undefined) this.connection.queue.wake(stream)
    this.connection.schedule()
  }

  /** Takes no more calls, and fails those of which nothing was sent. */
  #retire(reason: string): void {
    this.#isLeaving = true
    for (const call of [...this.#waiting, ...this.#placed]) {
      if (call.hasBegun) continue
      this.#waiting.delete(call)
      this.#placed.delete(call)
      call.fail(new TransportError('UNAVAILABLE', reason, 'nothing'))
    }
    this.#events.onLeaving(reason)
    this.#endIfDone()
  }

  #place(call: OutgoingCall): void {
    this.#placed.add(call)
    this.#wake(call)
  }

  #wake(call: OutgoingCall): void {
    if (!this.#placed.has(call)) return
    this.connection.queue.wake(call.outbound)
    // A single call goes at once: no other call could share its record.
    if (this.#placed.size > 1) this.connection.gather()
    else this.connection.schedule()
  }

  /** The caller left. A call that was not sent is forgotten; the other side hears of one that was. */
  #leave(call: OutgoingCall): void {
    if (!call.hasBegun) {
      this.#waiting.delete(call)
      return this.#free(call)
    }
    this.connection.sendShort(encodeFrame({ type: FRAME.cancel, stream: call.number }))
  }

  #free(call: OutgoingCall): void {
    this.#calls.delete(call.number)
    if (this.#placed.delete(call)) {
      for (const next of this.#waiting) {
        this.#waiting.delete(next)
        this.#place(next)
        break
      }
    }
    const isUsedUp = this.#lastNumber >= STREAM_NUMBER_MAX && !this.#isLeaving
    if (isUsedUp) this.#retire('the connection has no more numbers for calls')
    else this.#endIfDone()
  }

  #endIfDone(): void {
    if (this.#isLeaving && this.#placed.size + this.#waiting.size === 0) this.connection.end()
  }
}

function tooMany(peer: string): TransportError {
  return new TransportError('OVERLOADED', `too many calls wait for node ${peer}`, 'nothing')
}

function errorOf({ flags, body }: Frame): ServiceError {
  const { code, message } = decodeFailure(body)
  const isRefused =
    (flags & NOTHING_HAPPENED) !== 0 && (code === 'UNAVAILABLE' || code === 'INVALID_ARGUMENT')
  return isRefused ? new TransportError(code, message, 'nothing') : new ServiceError(code, message)
}
