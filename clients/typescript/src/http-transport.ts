// Sends calls over fetch: attempts, time-outs, and refusals as errors.

import { eventsOf, linesOf } from './answer-lines.ts'
import type { AnswerStream } from './answer-lines.ts'
import { buildServiceError, ConnectionError, errorBodyOf, QuarryError } from './errors.ts'
import type { ServiceError } from './errors.ts'
import { parseRetryAfterMs, RETRY_DEFAULTS, retryDelayMs } from './retry-policy.ts'
import type { Repeatable, RetryOptions } from './retry-policy.ts'

export interface ClientOptions {
  /** Where the server is, such as `http://127.0.0.1:8080`. */
  readonly baseUrl: string
  /** Sent with every request. */
  readonly headers?: Readonly<Record<string, string>>
  readonly retries?: Partial<RetryOptions>
  /** For each attempt, until its answer is there or begins to stream. Default: no limit. */
  readonly timeoutMs?: number
  /** Default JSON.parse and JSON.stringify, which round integers beyond 2^53. */
  readonly json?: JsonCodec
  /** Default the global fetch. */
  readonly fetch?: typeof fetch
}

export interface JsonCodec {
  readonly parse: (text: string) => Json
  readonly stringify: (value: unknown) => string
}

export interface CallOptions {
  readonly signal?: AbortSignal
  /** Instead of the client's. */
  readonly timeoutMs?: number
}

export interface Call {
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE'
  /** Encoded, from the root of the server. */
  readonly path: string
  /** Default JSON. */
  readonly accept?: string
  readonly headers?: Readonly<Record<string, string>>
  /** The body: a value, or JSON already. */
  readonly json?: unknown
  readonly body?: string
  /** Default: reads always. */
  readonly repeatable?: Repeatable
  readonly options?: CallOptions | undefined
}

export interface Answer {
  readonly status: number
  readonly headers: Headers
  readonly text: string
}

/** A value of which the server is believed that it has the type that its contract says. */
// oxlint-disable-next-line typescript/no-explicit-any
export type Json = any

/** Whether a line in the shape of an error is one, and no document that looks like it. */
type IsError = (line: object) => boolean
type Read<Result> = (response: Response) => Promise<Result>

export class HttpTransport {
  readonly codec: JsonCodec
  readonly #options: ClientOptions
  readonly #base: string
  readonly #retries: RetryOptions

  constructor(options: ClientOptions) {
    this.codec = options.json ?? JSON
    this.#options = options
    this.#base = new URL(options.baseUrl).href.replace(/\/+$/, '')
    this.#retries = { ...RETRY_DEFAULTS, ...options.retries }
  }

  /** Rejects with the error of the last attempt. */
  exchange(call: Call): Promise<Answer> {
    return this.#perform(call, textOf)
  }

  /** The parsed answer, undefined if it is empty. Rejects as `exchange` does. */
  async json(call: Call): Promise<Json> {
    const { text } = await this.exchange(call)
    return text === '' ? undefined : this.codec.parse(text)
  }

  /** Rejects as `exchange` does. */
  bytes(call: Call): Promise<ArrayBuffer> {
    return this.#perform(call, (response) => response.arrayBuffer())
  }

  /** Rejects as `exchange` does; a stream that has begun is never begun again. */
  async stream(call: Call): Promise<AnswerStream> {
    const signal = call.options?.signal
    const { body } = await this.#perform(call, async (response) => response)
    return { bytes: body ?? new Blob([]).stream(), signal }
  }

  /** Each line of a stream, parsed. A line that is an error body is thrown as the error it tells. */
  async *lines(call: Call, isError: IsError): AsyncGenerator<Json> {
    for await (const text of linesOf(await this.stream(call))) {
      if (text !== '') yield this.#piece(text, isError)
    }
  }

  /** The data of each event, parsed. An error body is thrown as the error it tells. */
  async *events(call: Call): AsyncGenerator<Json> {
    for await (const text of eventsOf(await this.stream(call))) yield this.#piece(text, () => true)
  }

  #piece(text: string, isError: IsError): Json {
    const value = this.codec.parse(text)
    const failure = errorBodyOf(value)
    if (failure === undefined || !isError(value)) return value
    const { error: message, code } = failure
    const headers = new Headers()
    const status = 200
    throw buildServiceError({
      message,
      code,
      status,
      headers,
      retryAfterMs: undefined,
      body: value,
    })
  }

  async #perform<Result>(call: Call, read: Read<Result>): Promise<Result> {
    for (let attempts = 1; ; attempts++) {
      try {
        return await this.#attempt(call, read)
      } catch (error) {
        const { repeatable = call.method === 'GET' ? 'always' : 'if_refused' } = call
        const chance = Math.random()
        const delayMs = retryDelayMs({ error, repeatable, attempts }, this.#retries, chance)
        if (delayMs === undefined) throw error
        await sleep(delayMs, call.options?.signal)
      }
    }
  }

  async #attempt<Result>(call: Call, read: Read<Result>): Promise<Result> {
    const { signal, timeoutMs = this.#options.timeoutMs } = call.options ?? {}
    const late = new AbortController()
    const timer =
      timeoutMs === undefined
        ? undefined
        : setTimeout(() => late.abort(new Error(`no answer within ${timeoutMs} ms`)), timeoutMs)
    try {
      signal?.throwIfAborted()
      const response = await this.#send(call, signal, late.signal)
      if (!response.ok) throw await this.#refusalOf(response)
      return await read(response)
    } catch (error) {
      if (signal?.aborted === true) throw signal.reason
      if (error instanceof QuarryError) throw error
      const cause = late.signal.aborted ? late.signal.reason : error
      const what = `${call.method} ${call.path}: ${messageOf(cause)}`
      throw new ConnectionError(what, { cause })
    } finally {
      clearTimeout(timer)
    }
  }

  #send(call: Call, signal: AbortSignal | undefined, late: AbortSignal): Promise<Response> {
    const { method, path, accept = 'application/json', headers = {} } = call
    const body = call.json === undefined ? call.body : this.codec.stringify(call.json)
    const send = this.#options.fetch ?? fetch
    return send(this.#base + path, {
      method,
      headers: {
        ...this.#options.headers,
        accept,
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(body === undefined ? {} : { body }),
      redirect: 'error',
      signal: signal === undefined ? late : AbortSignal.any([signal, late]),
    })
  }

  async #refusalOf(response: Response): Promise<ServiceError> {
    const { status, headers } = response
    const text = await response.text()
    const body = this.#parsed(text)
    const told = errorBodyOf(body)
    return buildServiceError({
      message: told?.error ?? `the server answered ${status}: ${text.slice(0, 200)}`,
      code: told?.code ?? `HTTP_${status}`,
      status,
      headers,
      retryAfterMs: parseRetryAfterMs(headers.get('retry-after'), Date.now()),
      body,
    })
  }

  /** Something in between may have answered with a page. */
  #parsed(text: string): unknown {
    try {
      return this.codec.parse(text)
    } catch {
      return text
    }
  }
}

async function textOf(response: Response): Promise<Answer> {
  const { status, headers } = response
  return { status, headers, text: await response.text() }
}

/** fetch itself says no more than that it failed; its cause says why. */
function messageOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  return error.cause instanceof Error ? messageOf(error.cause) : error.message
}

/** Rejects with the reason of the signal. */
function sleep(delayMs: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    const wake = (): void => {
      signal?.removeEventListener('abort', stop)
      resolve()
    }
    const timer = setTimeout(wake, delayMs)
    const stop = (): void => {
      clearTimeout(timer)
      reject(signal?.reason)
    }
    if (signal?.aborted === true) stop()
    else signal?.addEventListener('abort', stop, { once: true })
  })
}
