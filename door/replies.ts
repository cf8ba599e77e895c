// What handlers answer, and the answers to errors.

import type { ServerResponse } from 'node:http'
import type { Clock } from '../lib/clock.ts'
import { statusByErrorCode } from '../lib/http/error-status.ts'
import type { ErrorBody } from '../lib/http/error-translator.ts'
import { jsonReply, type BytesReply } from '../lib/http/reply.ts'
import type { HeldMemory } from '../lib/http/request-memory.ts'

/** What a streamed answer may use while it is sent. */
export interface Sending {
  readonly response: ServerResponse
  readonly clock: Clock
  /** A client that takes nothing during this time is disconnected. */
  readonly writeTimeoutMs: number
  readonly signal: AbortSignal
  readonly memory: HeldMemory
  /** For an answer that has begun: counts and logs the error, and says what its client may know. */
  errorBodyOf(this: void, error: unknown): object
}

/**
 * An answer that is made while it is sent. Contract of `send`:
 * - Resolves when the answer has left or the client has gone.
 * - Rejects only as long as nothing was sent, so that an error reply is still possible.
 * - Sends at the speed of the client, and gives up when the signal aborts.
 */
export interface StreamedReply {
  readonly kind: 'streamed'
  readonly status: number
  send(this: void, sending: Sending): Promise<void>
}

export type Reply = BytesReply | StreamedReply

/** How a server words its errors. */
export interface ErrorShape {
  /** Seconds that a client should wait before it repeats a request that was answered with 503. */
  readonly retryAfterS: number
  /** For clients that read another body than the contract's Error; `path` is the one asked for. */
  readonly bodyFor?: (path: string, body: ErrorBody) => object
}

/** Codes of conditions that pass by themselves: memory is released, a shard starts, an index is built. */
const PASSES = 503

/** Makes the answer to an error: status by its code, body in the shape of the API. */
export class ErrorReplies {
  readonly #shape: ErrorShape

  constructor(shape: ErrorShape) {
    this.#shape = shape
  }

  bodyFor(path: string, body: ErrorBody): object {
    return this.#shape.bodyFor?.(path, body) ?? body
  }

  of(path: string, body: ErrorBody, headers: readonly string[] = []): BytesReply {
    const status = statusByErrorCode[body.code]
    const retry = status === PASSES ? ['Retry-After', String(this.#shape.retryAfterS)] : []
    return jsonReply(status, this.bodyFor(path, body), [...headers, ...retry])
  }
}
