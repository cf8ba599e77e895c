// The HTTP contract as functions. fetch keeps connections alive and reuses them by itself.

import { randomUUID } from 'node:crypto'
import { CliError, EXIT } from './exit.ts'

const API_BASE = '/api/v1'
const REQUEST_TIMEOUT_MS = 60_000
const VERSION_HEADER = 'x-service-version'
const ERROR_BODY_BYTES_MAX = 64 * 1024

/** The service answered, and the answer is no. */
export class ServiceRefusal extends CliError {
  override readonly name = 'ServiceRefusal'
  readonly status: number
  /** From Retry-After; undefined when the service named no time. */
  readonly retryAfterMs: number | undefined
  /** The whole error body, for callers that know more members of it. */
  readonly body: string

  constructor(
    answer: { status: number; code: string; message: string; body: string },
    retryAfterMs?: number,
  ) {
    super(EXIT.refused, answer.code, answer.message)
    this.status = answer.status
    this.body = answer.body
    this.retryAfterMs = retryAfterMs
  }
}

/** Nobody answered: whether a write happened is unknown. */
export class Unreachable extends CliError {
  override readonly name = 'Unreachable'
}

export interface ApiRequest {
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE'
  /** Below /api/v1, already encoded. */
  readonly path: string
  readonly body?: string | Uint8Array<ArrayBuffer>
  /** Makes a retry of the same request have one effect. */
  readonly idempotencyKey?: string
  readonly signal?: AbortSignal | undefined
}

export interface ApiAnswer {
  readonly status: number
  readonly text: string
  /** The document's version; undefined where the operation has none. */
  readonly version: string | undefined
}

/**
 * A client of one service. Contract:
 * - A 2xx answer resolves; any other rejects with ServiceRefusal; no answer rejects with Unreachable.
 * - Nothing is retried here: the caller knows whether a retry is safe.
 */
export class ApiClient {
  readonly url: string

  constructor(url: string) {
    this.url = parseServiceUrl(url)
  }

  async request(request: ApiRequest): Promise<ApiAnswer> {
    const response = await this.#fetch(request, AbortSignal.timeout(REQUEST_TIMEOUT_MS))
    return {
      status: response.status,
      text: await this.#reading(response.text()),
      version: response.headers.get(VERSION_HEADER) ?? undefined,
    }
  }

  /** The body as it comes, for answers that may be larger than memory. No deadline but the signal's. */
  async *stream(request: ApiRequest): AsyncGenerator<Uint8Array, void, undefined> {
    const response = await this.#fetch(request, undefined)
    if (response.body === null) return
    const reader = response.body.getReader()
    try {
      for (;;) {
        const { done, value } = await this.#reading(reader.read())
        if (done) return
        yield value
      }
    } finally {
      await reader.cancel().catch(() => {}) // already broken: the reader was told why
    }
  }

  async #fetch(request: ApiRequest, deadline: AbortSignal | undefined): Promise<Response> {
    const signals = [request.signal, deadline].filter((signal) => signal !== undefined)
    const response = await this.#reading(
      fetch(`${this.url}${API_BASE}${request.path}`, {
        method: request.method,
        headers: {
          ...(request.body === undefined ? {} : { 'content-type': 'application/json' }),
          ...(request.idempotencyKey === undefined
            ? {}
            : { 'idempotency-key': request.idempotencyKey }),
        },
        ...(request.body === undefined ? {} : { body: request.body }),
        signal: AbortSignal.any(signals),
      }),
    )
    if (response.ok) return response
    throw refusalFrom(response, await this.#reading(response.text()))
  }

  async #reading<T>(work: Promise<T>): Promise<T> {
    try {
      return await work
    } catch (cause) {
      throw new Unreachable(EXIT.unreachable, 'UNREACHABLE', this.#explain(cause), { cause })
    }
  }

  #explain(cause: unknown): string {
    if (cause instanceof Error && cause.name === 'TimeoutError') {
      return `${this.url} did not answer in ${REQUEST_TIMEOUT_MS / 1000} s: is it overloaded? (quarry status)`
    }
    if (cause instanceof Error && cause.name === 'AbortError') return 'stopped'
    const remedy = 'is quarry swarm running? (quarry swarm --data-dir ./data)'
    return `cannot reach ${this.url}: ${remedy}`
  }
}

function parseServiceUrl(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (url === undefined || !/^https?:$/.test(url.protocol)) {
    const remedy = 'name the service like http://127.0.0.1:8080'
    throw new CliError(EXIT.usage, 'USAGE', `--url: "${text}" is not an http address: ${remedy}`)
  }
  return url.href.replace(/\/+$/, '').replace(/\/api\/v1$/, '')
}

function refusalFrom(response: Response, body: string): ServiceRefusal {
  const { error, code } = parseErrorBody(body.slice(0, ERROR_BODY_BYTES_MAX))
  const seconds = Number(response.headers.get('retry-after') ?? NaN)
  return new ServiceRefusal(
    {
      status: response.status,
      code: code ?? `HTTP_${response.status}`,
      message: error ?? `the service answered ${response.status} ${response.statusText}`.trim(),
      body,
    },
    Number.isFinite(seconds) && seconds >= 0 ? seconds * 1000 : undefined,
  )
}

function parseErrorBody(body: string): { error?: string; code?: string } {
  const value = parseJson(body)
  if (typeof value !== 'object' || value === null) return {}
  return {
    ...('error' in value && typeof value.error === 'string' ? { error: value.error } : {}),
    ...('code' in value && typeof value.code === 'string' ? { code: value.code } : {}),
  }
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined // a proxy's HTML page, for example
  }
}

export function tablePath(table: string): string {
  return `/tables/${encodeURIComponent(table)}`
}

export function lookupPath(table: string, key: string, fields?: string): string {
  const query = fields === undefined ? '' : `?fields=${encodePart(fields)}`
  return `${tablePath(table)}/lookup/${encodePart(key)}${query}`
}

/** Like encodeURIComponent, but readable: `@`, `:` and `,` mean themselves here (RFC 3986, 3.3). */
function encodePart(text: string): string {
  return encodeURIComponent(text).replaceAll(/%(?:40|3A|2C)/g, decodeURIComponent)
}

/** Never the same for two requests, of this process or another. */
export function newIdempotencyKey(): string {
  return randomUUID()
}
