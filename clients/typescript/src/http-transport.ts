// Sends calls over fetch. It retries, limits the time of each attempt, and turns refusals into errors.

import { eventsOf, linesOf } from './answer-lines.ts'
import type { AnswerStream } from './answer-lines.ts'
import {
  buildServiceError,
  ConnectionError,
  errorBodyOf,
  QuarryError,
  UnavailableError,
} from './errors.ts'
import type { ServiceError } from './errors.ts'
import { parseRetryAfterMs, RETRY_DEFAULTS, retryDelayMs } from './retry-policy.ts'
import type { Repeatable, RetryOptions } from './retry-policy.ts'

/** The options of a client. They hold for all its calls. */
export interface ClientOptions {
  /**
   * The address of the server, such as `http://127.0.0.1:8080`, or those of several nodes of a cluster. Calls go
   * to one of them. When it does not answer, or says UNAVAILABLE, the next attempt goes to the next one.
   */
  readonly baseUrl: string | readonly string[]
  /** Headers for every request. */
  readonly headers?: Readonly<Record<string, string>>
  /** Absent options take the defaults of RETRY_DEFAULTS. */
  readonly retries?: Partial<RetryOptions>
  /** The limit of each attempt, until its answer has arrived or begins to stream. Absent: no limit. */
  readonly timeoutMs?: number
  /** Absent: JSON.parse and JSON.stringify, which round integers beyond 2^53. */
  readonly json?: JsonCodec
  /** Absent: the global fetch. */
  readonly fetch?: typeof fetch
}

/**
 * Parses answers and writes bodies. A codec can keep digits that a JavaScript number cannot hold.
 */
export interface JsonCodec {
  readonly parse: (text: string) => Json
  readonly stringify: (value: unknown) => string
}

/** The options of one call. */
export interface CallOptions {
  /** Aborts the call, which then rejects with the signal's reason. */
  readonly signal?: AbortSignal
  /** Replaces the client's limit for this call. */
  readonly timeoutMs?: number
}

/** One call as the transport sends it. */
export interface Call {
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE'
  /** The encoded path, from the root of the server. */
  readonly path: string
  /** The media type of the answer. Absent: JSON. */
  readonly accept?: string
  readonly headers?: Readonly<Record<string, string>>
  /** The body: as a value, or in `body` as JSON text. */
  readonly json?: unknown
  readonly body?: string
  /** Absent: `always` for GET, `if_refused` for the other methods. */
  readonly repeatable?: Repeatable
  readonly options?: CallOptions | undefined
}

/** A successful answer with its whole body. */
export interface Answer {
  readonly status: number
  readonly headers: Headers
  readonly text: string
}

/** A value from the server. The client trusts that it has the type of the contract. */
// oxlint-disable-next-line typescript/no-explicit-any
export type Json = any

/** Tells an error body from a document that has the same members. */
type IsError = (line: object) => boolean
type Read<Result> = (response: Response) => Promise<Result>

/**
 * Sends the calls of one client. A call rejects with a QuarryError, or with the reason of its
 * signal.
 */
export class HttpTransport {
  readonly codec: JsonCodec
  readonly #options: ClientOptions
  readonly #bases: readonly string[]
  /** The server of the next attempt. */
  #chosen = 0
  readonly #retries: RetryOptions

  constructor(options: ClientOptions) {
    this.codec = options.json ?? JSON
    this.#options = options
    const urls = typeof options.baseUrl === 'string' ? [options.baseUrl] : options.baseUrl
    if (urls.length === 0) throw new TypeError('baseUrl: name one server at least')
    this.#bases = urls.map((url) => parseBaseUrl(url).href.replace(/\/+$/, ''))
    this.#retries = { ...RETRY_DEFAULTS, ...options.retries }
  }

  /** Sends a call and reads the whole answer. Rejects with the error of the last attempt. */
  exchange(call: Call): Promise<Answer> {
    return this.#perform(call, textOf)
  }

  /** The parsed answer; undefined if it is empty. Rejects as `exchange` does. */
  async json(call: Call): Promise<Json> {
    const { text } = await this.exchange(call)
    return text === '' ? undefined : this.parse(text)
  }

  /** The value of an answer's JSON. Throws a QuarryError if it is none, as of a proxy or another program. */
  parse(text: string): Json {
    try {
      return this.codec.parse(text)
    } catch (cause) {
      throw new QuarryError('the answer is not JSON: is this a server of Quarry?', { cause })
    }
  }

  /** The bytes of the answer. Rejects as `exchange` does. */
  bytes(call: Call): Promise<ArrayBuffer> {
    return this.#perform(call, (response) => response.arrayBuffer())
  }

  /** The answer as a stream. Rejects as `exchange` does. A stream that has begun is not retried. */
  async stream(call: Call): Promise<AnswerStream> {
    const signal = call.options?.signal
    const { body } = await this.#perform(call, async (response) => response)
    return { bytes: body ?? new Blob([]).stream(), signal }
  }

  /** The parsed lines of a stream. An error body is thrown as its error. */
  async *lines(call: Call, isError: IsError): AsyncGenerator<Json> {
    for await (const text of linesOf(await this.stream(call))) {
      if (text !== '') yield this.#piece(text, isError)
    }
  }

  /** The parsed data of each event. An error body is thrown as its error. */
  async *events(call: Call): AsyncGenerator<Json> {
    for await (const text of eventsOf(await this.stream(call))) yield this.#piece(text, () => true)
  }

  #piece(text: string, isError: IsError): Json {
    const value = this.parse(text)
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
      const chosen = this.#chosen
      try {
        return await this.#attempt(call, read)
      } catch (error) {
        if (isAway(error)) this.#leave(chosen)
        const { repeatable = call.method === 'GET' ? 'always' : 'if_refused' } = call
        const chance = Math.random()
        const delayMs = retryDelayMs({ error, repeatable, attempts }, this.#retries, chance)
        if (delayMs === undefined) throw error
        await sleep(delayMs, call.options?.signal)
      }
    }
  }

  /** Calls that ran side by side and failed together move on once. */
  #leave(chosen: number): void {
    if (this.#chosen === chosen) this.#chosen = (chosen + 1) % this.#bases.length
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
    return send(`${this.#bases[this.#chosen] ?? ''}${path}`, {
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
    const named = errorBodyOf(body)
    return buildServiceError({
      message: named?.error ?? `the server answered ${status}: ${text.slice(0, 200)}`,
      code: named?.code ?? `HTTP_${status}`,
      status,
      headers,
      retryAfterMs: parseRetryAfterMs(headers.get('retry-after'), Date.now()),
      body,
    })
  }

  /** A proxy may answer with a page that is not JSON. */
  #parsed(text: string): unknown {
    try {
      return this.codec.parse(text)
    } catch {
      return text
    }
  }
}

/** Another server may answer what this one could not. */
function isAway(error: unknown): boolean {
  return error instanceof ConnectionError || error instanceof UnavailableError
}

async function textOf(response: Response): Promise<Answer> {
  const { status, headers } = response
  return { status, headers, text: await response.text() }
}

/** The error of fetch only says that it failed, so the message comes from its cause. */
function messageOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  return error.cause instanceof Error ? messageOf(error.cause) : error.message
}

/** Rejects with the signal's reason when the signal aborts. */
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

/** "localhost:8080" parses, too, as an address of the scheme "localhost". */
function parseBaseUrl(text: string): URL {
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (url !== undefined && /^https?:$/.test(url.protocol)) return url
  const remedy = 'begin it with http:// or https://, like http://127.0.0.1:8080'
  throw new TypeError(`baseUrl: "${text}" is not an http address; ${remedy}`)
}
