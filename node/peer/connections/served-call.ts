import { isServiceError, ServiceError } from '../../../lib/errors.ts'
import type { Deadline } from '../deadlines.ts'
import {
  encodeFailure,
  encodeFrame,
  FRAME,
  malformed,
  NOTHING_HAPPENED,
} from '../wire/frame-codec.ts'
import type { Failure, Frame, Opening } from '../wire/frame-codec.ts'
import type { Session } from '../wire/handshake.ts'
import { InboundStream } from '../streams/inbound-stream.ts'
import type { LargeMessages } from '../streams/large-messages.ts'
import { OutboundStream } from '../streams/outbound-stream.ts'
import { tooLarge } from './outgoing-call.ts'
import { PartQueue } from '../streams/part-queue.ts'
import { noHandler } from '../peer.ts'
import type { NodeId, PeerHandler, PeerRequest, UploadRequest } from '../peer.ts'
import type { Service } from './service.ts'

/** How a served call reaches its connection. */
export interface ServedCallSurroundings {
  readonly service: Service
  readonly session: Session
  readonly large: LargeMessages
  credit(bytes: number): void
  wake(): void
  /** Sends the frame of a failure. */
  fail(frame: Buffer): void
  /** The call has ended: its place is free. */
  gone(): void
}

/** What the caller said when it opened the call. */
export interface Opened extends Opening {
  readonly number: number
  readonly operation: number
}

/** One call of a connection, at the node that serves it. */
export class ServedCall {
  readonly outbound: OutboundStream
  readonly #opened: Opened
  readonly #surroundings: ServedCallSurroundings
  readonly #inbound: InboundStream
  readonly #parts: PartQueue | undefined
  readonly #deadline: Deadline | undefined
  readonly #endsAtMs: number | undefined
  #request: ServedRequest | undefined
  #abortReason: unknown
  /** The handler has settled, and its answer is being written. */
  #hasAnswered = false
  #hasEnded = false

  constructor(opened: Opened, surroundings: ServedCallSurroundings) {
    const { service, session, large } = surroundings
    const { number, timeoutMs } = opened
    this.#opened = opened
    this.#surroundings = surroundings
    this.outbound = new OutboundStream({
      urgent: false,
      credit: session.theirs.windowBytes,
      number,
    })
    this.#inbound = new InboundStream({
      terms: session.ours,
      large,
      credit: (bytes) => surroundings.credit(bytes),
      deliver: (message, release) => this.#onMessage(message, release),
    })
    // A handler that wants no more parts says so by its answer.
    this.#parts = opened.kind === 'upload' ? new PartQueue(() => undefined) : undefined
    if (timeoutMs === undefined) return
    this.#endsAtMs = service.nowMs() + timeoutMs
    this.#deadline = service.deadlines.after(timeoutMs, () => {
      this.abort(new ServiceError('DEADLINE_EXCEEDED', 'the time of the call is over'))
    })
  }

  take(frame: Pick<Frame, 'flags' | 'body'>): void {
    this.#inbound.take(frame)
  }

  endParts(): void {
    this.#parts?.finish()
  }

  grant(bytes: number): void {
    this.outbound.grant(bytes)
    this.#surroundings.wake()
  }

  /** The caller wants no answer any more. */
  abort(reason: ServiceError): void {
    if (this.#abortReason !== undefined) return
    this.#abortReason = reason
    this.#inbound.close()
    this.#parts?.fail(reason)
    this.outbound.stop(() => reason)
    if (this.#request === undefined) this.#fail(reason, NOTHING_HAPPENED)
    else if (this.#hasAnswered) this.#fail(reason, 0)
    else this.#request.abort(reason)
  }

  #onMessage(message: Buffer, release: () => void): void {
    if (this.#request !== undefined) {
      if (this.#parts === undefined) throw malformed('a second message in a call')
      return this.#parts.push(message, release)
    }
    const { operation, kind } = this.#opened
    const { service, session } = this.#surroundings
    const handler = service.handlers.get(operation)
    this.#request = new ServedRequest(session, message, () => this.#remainingMs())
    if (handler === undefined || handler.kind !== kind) {
      return this.#fail(noHandler(service.handlers, this.#opened), NOTHING_HAPPENED)
    }
    if (kind === 'upload') release()
    void this.#run(handler, this.#request)
  }

  async #run(handler: PeerHandler, request: ServedRequest): Promise<void> {
    try {
      switch (handler.kind) {
        case 'call':
          return this.#answer(await handler.handle(request))
        case 'upload':
          return this.#answer(await handler.handle(this.#uploadOf(request)))
        case 'stream':
          for await (const part of handler.handle(request)) await this.#sendPart(part)
          return this.#endStream()
        case 'message':
          throw malformed('a one-way message is not a call')
      }
    } catch (error) {
      this.#fail(error, 0)
    }
  }

  #uploadOf(request: ServedRequest): UploadRequest {
    const parts = this.#parts ?? new PartQueue(() => undefined)
    return Object.assign(request, { parts })
  }

  #answer(body: Uint8Array): void {
    if (this.#abortReason !== undefined) return this.#fail(this.#abortReason, 0)
    if (body.length > this.#surroundings.session.theirs.messageBytesMax) {
      return this.#fail(tooLarge(body.length), 0)
    }
    this.#hasAnswered = true
    this.outbound.push({ type: FRAME.data, code: 0, body, onWritten: () => this.#end() })
    this.#surroundings.wake()
  }

  async #sendPart(body: Uint8Array): Promise<void> {
    if (body.length > this.#surroundings.session.theirs.messageBytesMax) throw tooLarge(body.length)
    await this.outbound.room()
    this.outbound.push({ type: FRAME.data, code: 0, body })
    this.#surroundings.wake()
  }

  #endStream(): void {
    if (this.#abortReason !== undefined) return this.#fail(this.#abortReason, 0)
    this.#hasAnswered = true
    this.outbound.end(() => this.#end())
    this.#surroundings.wake()
  }

  #fail(error: unknown, flags: number): void {
    if (this.#hasEnded) return
    this.outbound.stop(() => error)
    const body = encodeFailure(this.#failureOf(error))
    this.#surroundings.fail(
      encodeFrame({ type: FRAME.failure, flags, stream: this.#opened.number, body }),
    )
    this.#end()
  }

  #failureOf(error: unknown): Failure {
    if (isServiceError(error)) return error
    // A handler that throws its signal's reason, or because of it, is not at fault.
    if (isServiceError(this.#abortReason)) return this.#abortReason
    this.#surroundings.service.onFault(error)
    return { code: 'INTERNAL', message: 'the other node failed; its log says why' }
  }

  #remainingMs(): number | undefined {
    if (this.#endsAtMs === undefined) return undefined
    return Math.max(0, this.#endsAtMs - this.#surroundings.service.nowMs())
  }

  #end(): void {
    this.#hasEnded = true
    this.#deadline?.cancel()
    this.#inbound.close()
    this.#surroundings.gone()
  }
}

/** The signal is made when a handler asks for it: most do not, and it costs more than the rest. */
class ServedRequest implements PeerRequest {
  readonly from: NodeId
  readonly version: number
  readonly body: Buffer
  readonly remainingMs: () => number | undefined
  #controller: AbortController | undefined
  #reason: unknown

  constructor(session: Session, body: Buffer, remainingMs: () => number | undefined) {
    this.from = session.peer
    this.version = session.version
    this.body = body
    this.remainingMs = remainingMs
  }

  get signal(): AbortSignal {
    this.#controller ??= new AbortController()
    if (this.#reason !== undefined) this.#controller.abort(this.#reason)
    return this.#controller.signal
  }

  abort(reason: unknown): void {
    this.#reason = reason
    this.#controller?.abort(reason)
  }
}
