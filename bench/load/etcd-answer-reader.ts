// Reads frames of HTTP/2 up to the end of a call's answer, and sends what the protocol asks of a client.

import { FLAG, FRAME, frame } from './etcd-requests.ts'
import type { Answer, AnswerReader } from './http-answer-reader.ts'

const HEAD_BYTES = 9
/** The server may send 65,535 bytes before it has to be told of more. */
const WINDOW_BYTES = 32_768

/**
 * The first answer is the server's settings. A call without a message in its answer has failed: gRPC says so in
 * trailers, which this reader leaves unread.
 */
export class EtcdAnswerReader implements AnswerReader {
  readonly #reply: (bytes: Buffer) => void
  #pending: Buffer = Buffer.alloc(0)
  #message: Buffer | undefined
  #unacknowledgedBytes = 0

  constructor(reply: (bytes: Buffer) => void) {
    this.#reply = reply
  }

  push(chunk: Buffer): Answer | undefined {
    let bytes = this.#pending.length === 0 ? chunk : Buffer.concat([this.#pending, chunk])
    let answer: Answer | undefined
    while (bytes.length >= HEAD_BYTES) {
      const end = HEAD_BYTES + bytes.readUIntBE(0, 3)
      if (bytes.length < end) break
      answer = this.#take(bytes.subarray(0, end)) ?? answer
      bytes = bytes.subarray(end)
    }
    this.#pending = bytes
    return answer
  }

  #take(bytes: Buffer): Answer | undefined {
    const [type, flags] = [bytes.readUInt8(3), bytes.readUInt8(4)]
    const body = bytes.subarray(HEAD_BYTES)
    const isAck = (flags & FLAG.ack) !== 0
    switch (type) {
      case FRAME.settings:
        if (isAck) return undefined
        this.#reply(frame(FRAME.settings, FLAG.ack, Buffer.alloc(0)))
        return { status: 200, body: Buffer.alloc(0) }
      case FRAME.ping:
        if (!isAck) this.#reply(frame(FRAME.ping, FLAG.ack, body))
        return undefined
      case FRAME.data:
        this.#grantWindow(body.length)
        this.#message = Buffer.from(body)
        break
      case FRAME.resetStream:
      case FRAME.goAway:
        return { status: 500, body: Buffer.from(`the server sent a frame of type ${type}`) }
    }
    const isEnd = type === FRAME.headers || type === FRAME.data
    return isEnd && (flags & FLAG.endStream) !== 0 ? this.#ended() : undefined
  }

  #ended(): Answer {
    const message = this.#message
    this.#message = undefined
    return message === undefined
      ? { status: 500, body: Buffer.from('the call failed') }
      : { status: 200, body: message }
  }

  #grantWindow(bytes: number): void {
    this.#unacknowledgedBytes += bytes
    if (this.#unacknowledgedBytes < WINDOW_BYTES) return
    const increment = Buffer.alloc(4)
    increment.writeUInt32BE(this.#unacknowledgedBytes)
    this.#unacknowledgedBytes = 0
    this.#reply(frame(FRAME.windowUpdate, 0, increment))
  }
}
