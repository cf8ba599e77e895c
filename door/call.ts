// A request and the place for its answer. Either node:http or parsePlainRequest has read the request.

import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http'
import { sendHeld, type HeldReplyOptions } from '../lib/http/held-reply.ts'
import type { PlainConnection } from '../lib/http/plain-connections.ts'
import type { PlainRequest } from '../lib/http/plain-request.ts'
import { headTextOf, sendBytes, type BytesReply } from '../lib/http/reply.ts'
import { requestIdOf } from '../lib/http/request-id.ts'

/**
 * Contract:
 * - `whenGone` calls the listener once if the client leaves before its answer is out; at once if it has left.
 * - `send` and `sendHeld` send one whole answer. They do nothing when the client has gone, or when an answer is on its
 *   way. `sendHeld` resolves when the answer has left or the client has gone, and rejects with OVERLOADED, nothing sent.
 * - `response` is there for streamed answers; undefined where operations answer in bytes alone.
 */
export interface Call {
  readonly method: string
  readonly url: string
  readonly headers: IncomingHttpHeaders
  readonly requestId: string | undefined
  readonly response: ServerResponse | undefined
  whenGone(listener: () => void): void
  send(reply: BytesReply): void
  sendHeld(reply: BytesReply, options: HeldReplyOptions): Promise<void>
}

/** A request that node:http has read. */
export class NodeCall implements Call {
  readonly request: IncomingMessage
  readonly response: ServerResponse

  constructor(request: IncomingMessage, response: ServerResponse) {
    this.request = request
    this.response = response
  }

  get method(): string {
    return this.request.method ?? ''
  }

  get url(): string {
    return this.request.url ?? ''
  }

  get headers(): IncomingHttpHeaders {
    return this.request.headers
  }

  get requestId(): string | undefined {
    return requestIdOf(this.response)
  }

  whenGone(listener: () => void): void {
    const { response } = this
    const gone = (): void => {
      if (!response.writableFinished) listener()
    }
    if (response.destroyed) gone()
    else response.once('close', gone)
  }

  send(reply: BytesReply): void {
    sendBytes(this.response, reply)
  }

  sendHeld(reply: BytesReply, options: HeldReplyOptions): Promise<void> {
    return sendHeld(this.response, reply, options)
  }
}

/** A plain request, whose operation answers in bytes. */
export class PlainCall implements Call {
  readonly response = undefined
  readonly method: string
  readonly url: string
  readonly requestId: string
  readonly #rawHeaders: readonly string[]
  readonly #connection: PlainConnection
  #isAnswered = false

  constructor(
    { method, target, rawHeaders }: PlainRequest,
    connection: PlainConnection,
    id: string,
  ) {
    this.method = method
    this.url = target
    this.requestId = id
    this.#rawHeaders = rawHeaders
    this.#connection = connection
  }

  /** Made for those who ask: a plain request has no header that changes what its operation does. */
  get headers(): IncomingHttpHeaders {
    const headers: IncomingHttpHeaders = {}
    for (let i = 0; i < this.#rawHeaders.length; i += 2) {
      headers[(this.#rawHeaders[i] ?? '').toLowerCase()] = this.#rawHeaders[i + 1]
    }
    return headers
  }

  whenGone(listener: () => void): void {
    this.#connection.whenGone(listener)
  }

  send(reply: BytesReply): void {
    if (!this.#begin()) return
    this.#connection.send(headTextOf(reply, this.requestId), reply.body)
  }

  async sendHeld(reply: BytesReply, { memory, writeTimeoutMs }: HeldReplyOptions): Promise<void> {
    memory.add(reply.body.length)
    if (!this.#begin()) return
    const { body } = reply
    await this.#connection.sendLong(headTextOf(reply, this.requestId), { body, writeTimeoutMs })
  }

  #begin(): boolean {
    const isFirst = !this.#isAnswered
    this.#isAnswered = true
    return isFirst
  }
}
