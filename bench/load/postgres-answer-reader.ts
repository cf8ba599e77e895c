// Reads PostgreSQL's messages up to "ready for query".

import type { Answer, AnswerReader } from './http-answer-reader.ts'

const HEAD_BYTES = 5
const READY = 'Z'.charCodeAt(0)
const ERROR = 'E'.charCodeAt(0)
/** The greeting is answered twice: for the session, and for the prepared statement. */
const READY_AFTER_GREETING = 2

/** An answer has the status 200, or 500 with the fields of the error in its body. */
export class PostgresAnswerReader implements AnswerReader {
  #pending: Buffer = Buffer.alloc(0)
  #error: Buffer | undefined
  #readyLeft = READY_AFTER_GREETING

  push(chunk: Buffer): Answer | undefined {
    let bytes = this.#pending.length === 0 ? chunk : Buffer.concat([this.#pending, chunk])
    let answer: Answer | undefined
    while (bytes.length >= HEAD_BYTES) {
      const end = 1 + bytes.readInt32BE(1)
      if (bytes.length < end) break
      answer = this.#take(bytes.readUInt8(0), bytes.subarray(HEAD_BYTES, end)) ?? answer
      bytes = bytes.subarray(end)
    }
    this.#pending = bytes
    return answer
  }

  #take(type: number, body: Buffer): Answer | undefined {
    if (type === ERROR) this.#error = Buffer.from(body)
    if (type !== READY) return undefined
    this.#readyLeft -= 1
    // A session that is refused says nothing of being ready; the server closes it.
    if (this.#readyLeft > 0) return undefined
    this.#readyLeft = 1
    const error = this.#error
    this.#error = undefined
    return error === undefined
      ? { status: 200, body: Buffer.alloc(0) }
      : { status: 500, body: error }
  }
}
