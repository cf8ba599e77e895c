// The calls of one connection, at the node that accepted it.
//
// Invariants:
//   SS1  At most `streamsMax` calls are open. A call is open until its handler has settled and its
//        answer is written, so a caller that leaves quickly cannot start more.
//   SS2  Numbers of calls grow. So no call is served twice, whatever is repeated.
//   SS3  A call that is refused before its handler ran says so.
//   SS4  After the goodbye the dialer ends the connection, when it has all answers: a call that was on its way then is
//        refused, and its caller knows that nothing happened. The owner bounds the time of that.

import { ServiceError } from '../../../lib/errors.ts'
import { creditOf, PeerConnection } from './connection.ts'
import type { ConnectionOptions, ConnectionSide } from './connection.ts'
import { decodeOpening, encodeFrame, encodeFailure, FRAME, malformed } from '../wire/frame-codec.ts'
import { FIRST, NOTHING_HAPPENED, OPENING_BYTES } from '../wire/frame-codec.ts'
import type { Frame } from '../wire/frame-codec.ts'
import { InboundStream } from '../streams/inbound-stream.ts'
import { LargeMessages } from '../streams/large-messages.ts'
import { ServedCall } from './served-call.ts'
import type { Service } from './service.ts'
import type { HandshakeStage } from '../wire/handshake-stage.ts'

/** One connection, for the calls and messages of the node at its other end. */
export class ServingSide implements ConnectionSide {
  readonly connection: PeerConnection
  readonly #service: Service
  readonly #large: LargeMessages
  readonly #messages: InboundStream
  readonly #calls = new Map<number, ServedCall>()
  readonly #onGone: (reason: string) => void
  /** The operation of the one-way message that is arriving. */
  #messageOperation = 0
  #lastNumber = 0
  #isLeaving = false

  constructor(
    options: Omit<ConnectionOptions, 'numberStream'>,
    service: Service,
    onGone: (reason: string) => void,
  ) {
    this.#service = service
    this.#onGone = onGone
    this.#large = new LargeMessages(service.largeBytesMax)
    this.connection = new PeerConnection({ ...options, numberStream: () => 0 }, this)
    this.#messages = new InboundStream({
      terms: this.connection.session.ours,
      large: this.#large,
      credit: (bytes) => this.connection.credit(0, bytes),
      deliver: (message, release) => this.#onMessage(message, release),
    })
  }

  takeOver(stage: HandshakeStage): void {
    stage.handOver(this.connection)
  }

  /** Takes no more calls (SS4). */
  leave(): void {
    if (this.#isLeaving) return
    this.#isLeaving = true
    this.connection.sendShort(encodeFrame({ type: FRAME.goodbye }))
  }

  onFrame(frame: Frame): void {
    switch (frame.type) {
      case FRAME.open:
        return this.#open(frame)
      case FRAME.oneWay:
        return this.#takeMessage(frame)
      case FRAME.data:
        return this.#find(frame)?.take(frame)
      case FRAME.end:
        return this.#find(frame)?.endParts()
      case FRAME.credit:
        return this.#find(frame)?.grant(creditOf(frame))
      case FRAME.cancel:
        return this.#find(frame)?.abort(new ServiceError('CANCELLED', 'the caller has left'))
      default:
        throw malformed(`a frame of type ${frame.type} for a server`)
    }
  }

  onLost(reason: string): void {
    const error = new ServiceError('UNAVAILABLE', `the caller's connection was lost: ${reason}`)
    this.#messages.close()
    for (const call of this.#calls.values()) call.abort(error)
    this.#onGone(reason)
  }

  #takeMessage(frame: Frame): void {
    if (frame.stream !== 0) throw malformed('a one-way message on a stream')
    if ((frame.flags & FIRST) !== 0) this.#messageOperation = frame.code
    this.#messages.take(frame)
  }

  /** Undefined for a call that has ended: its caller did not know that yet. */
  #find({ stream }: Frame): ServedCall | undefined {
    if (stream === 0 || stream > this.#lastNumber) throw malformed('a call that was not opened')
    return this.#calls.get(stream)
  }

  #open(frame: Frame): void {
    const { stream: number } = frame
    if ((frame.flags & FIRST) === 0) {
      // The opening repeats its type in all frames of its message.
      return this.#find(frame)?.take(frame)
    }
    if (number <= this.#lastNumber) throw malformed('a call with a number that was used')
    this.#lastNumber = number
    const opening = decodeOpening(frame.body)
    const body = frame.body.subarray(OPENING_BYTES)
    if (this.#isLeaving) return this.#refuse(number)
    const { session } = this.connection
    if (this.#calls.size >= session.ours.streamsMax) throw malformed('more calls than places')
    const call = new ServedCall(
      { number, operation: frame.code, ...opening },
      {
        service: this.#service,
        session,
        large: this.#large,
        credit: (bytes) => this.connection.credit(number, bytes),
        wake: () => this.#wake(call),
        fail: (failure) => this.connection.sendShort(failure),
        gone: () => this.#remove(number),
      },
    )
    this.#calls.set(number, call)
    call.take({ flags: frame.flags, body })
  }

  #refuse(number: number): void {
    const body = encodeFailure({ code: 'UNAVAILABLE', message: 'the node is closing' })
    const flags = NOTHING_HAPPENED
    this.connection.sendShort(encodeFrame({ type: FRAME.failure, flags, stream: number, body }))
  }

  #wake(call: ServedCall): void {
    this.connection.queue.wake(call.outbound)
    this.connection.schedule()
  }

  #remove(number: number): void {
    this.#calls.delete(number)
  }

  #onMessage(body: Buffer, release: () => void): void {
    const { peer: from, version } = this.connection.session
    const operation = this.#messageOperation
    const { handlers, log } = this.#service
    const handler = handlers.get(operation)
    if (handler?.kind !== 'message') {
      // Messages that come while the node starts are lost, as one-way messages may be.
      const hasStarted = handlers.isComplete !== false
      if (hasStarted) log.warn('unknown one-way message of a peer', { from, operation })
      return release()
    }
    try {
      const done = handler.handle({ from, version, body })
      if (done === undefined) return release()
      done.then(release, (error: unknown) => {
        release()
        this.#service.onFault(error)
      })
    } catch (error) {
      release()
      this.#service.onFault(error)
    }
  }
}
