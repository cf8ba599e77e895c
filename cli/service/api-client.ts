// A client of the store's HTTP API for the commands.

import type { IncomingMessage } from 'node:http'
import { EXIT } from '../../lib/process/exit-codes.ts'
import { ownCommand, shellWord } from '../../lib/own-command.ts'
import { explainConnection } from './explain-connection.ts'
import { CliError } from '../process/exit.ts'
import { HttpTransport } from './http-transport.ts'

const API_BASE = '/api/v1'
const REQUEST_TIMEOUT_MS = 60_000
const VERSION_HEADER = 'x-service-version'
const ERROR_BODY_BYTES_MAX = 64 * 1024

/** The service answered with an error. */
export class ServiceRefusal extends CliError {
  override readonly name = 'ServiceRefusal'
  readonly status: number
  /** The time of Retry-After; undefined when the answer has none. */
  readonly retryAfterMs: number | undefined
  /** The whole error body, for callers that read more of its members. */
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

/** No whole answer arrived. A write may or may not have happened. */
export class Unreachable extends CliError {
  override readonly name = 'Unreachable'
}

/** One request of the API. */
export interface ApiRequest {
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE'
  /** The path below /api/v1, already encoded. */
  readonly path: string
  readonly body?: string | Uint8Array<ArrayBuffer>
  /** Requests with the same key have one effect, so a retry is safe. */
  readonly idempotencyKey?: string
  readonly signal?: AbortSignal | undefined
}

/** The whole answer to a request. */
export interface ApiAnswer {
  readonly status: number
  readonly text: string
  /** The document's version; undefined where the operation has none. */
  readonly version: string | undefined
}

/**
 * A client of one service.
 *
 * Contract:
 * - A 2xx answer resolves. Any other answer rejects with ServiceRefusal, and a missing answer with
 *   Unreachable.
 * - It never retries, because only the caller knows whether a retry is safe.
 */
export class ApiClient {
  readonly url: string
  readonly #place: URL
  readonly #transport: HttpTransport
  readonly #usualUrl: string

  /** `usualUrl` is what commands ask that name no service. */
  constructor(url: string, usualUrl = url) {
    this.url = parseServiceUrl(url)
    this.#usualUrl = usualUrl
    this.#place = new URL(this.url)
    this.#transport = new HttpTransport(this.#place)
  }

  /** A command about the same service, for a hint that a person pastes. */
  command(words: string): string {
    const isUsual = URL.canParse(this.#usualUrl) && parseServiceUrl(this.#usualUrl) === this.url
    return ownCommand(isUsual ? words : `${words} --url ${shellWord(this.url)}`)
  }

  async request(request: ApiRequest): Promise<ApiAnswer> {
    const deadline = AbortSignal.timeout(REQUEST_TIMEOUT_MS)
    const response = await this.#send(request, deadline)
    return {
      status: response.statusCode ?? 0,
      text: await this.#reading(textOf(response), deadline),
      version: headerOf(response, VERSION_HEADER),
    }
  }

  /** The body in chunks, for answers that may be larger than memory. Only the signal can end it early. */
  async *stream(request: ApiRequest): AsyncGenerator<Uint8Array, void, undefined> {
    const response = await this.#send(request, undefined)
    const chunks: AsyncIterator<Uint8Array> = response[Symbol.asyncIterator]()
    try {
      for (;;) {
        const { done, value } = await this.#reading(chunks.next())
        if (done === true) return
        yield value
      }
    } finally {
      response.destroy()
    }
  }

  async #send(request: ApiRequest, deadline: AbortSignal | undefined): Promise<IncomingMessage> {
    const { method, path, body, idempotencyKey } = request
    const sending = this.#transport.send({
      method,
      path: `${this.#place.pathname.replace(/\/$/, '')}${API_BASE}${path}`,
      headers: {
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...(idempotencyKey === undefined ? {} : { 'idempotency-key': idempotencyKey }),
      },
      body,
      signal: AbortSignal.any([request.signal, deadline].filter((signal) => signal !== undefined)),
    })
    const response = await this.#reading(sending, deadline)
    const { statusCode = 0 } = response
    if (statusCode >= 200 && statusCode <= 299) return response
    throw refusalFrom(response, await this.#reading(textOf(response), deadline))
  }

  async #reading<T>(work: Promise<T>, deadline?: AbortSignal): Promise<T> {
    try {
      return await work
    } catch (cause) {
      const message = deadline?.aborted === true ? this.#tooLate() : this.#explain(cause)
      throw new Unreachable(EXIT.unreachable, 'UNREACHABLE', message, { cause })
    }
  }

  #tooLate(): string {
    const seconds = REQUEST_TIMEOUT_MS / 1000
    return `${this.url} did not answer in ${seconds} s; it may be overloaded (see: ${this.command('status')})`
  }

  #explain(cause: unknown): string {
    if (cause instanceof Error && cause.name === 'AbortError') return 'stopped'
    return `cannot reach ${this.url}: ${explainConnection(cause, this.#place, this.command('status'))}`
  }
}

async function textOf(response: IncomingMessage): Promise<string> {
  const chunks: Uint8Array[] = []
  for await (const chunk of response) chunks.push(chunk)
  return Buffer.concat(chunks).toString('utf8')
}

function headerOf({ headers }: IncomingMessage, name: string): string | undefined {
  return headers[name]?.toString()
}

function parseServiceUrl(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (url === undefined || !/^https?:$/.test(url.protocol)) {
    const remedy = 'give an address like http://127.0.0.1:8080'
    throw new CliError(EXIT.usage, 'USAGE', `--url: "${text}" is not an http address: ${remedy}`)
  }
  return url.href.replace(/\/+$/, '').replace(/\/api\/v1$/, '')
}

function refusalFrom(response: IncomingMessage, body: string): ServiceRefusal {
  const { error, code } = parseErrorBody(body.slice(0, ERROR_BODY_BYTES_MAX))
  const { statusCode: status = 0 } = response
  const seconds = Number(headerOf(response, 'retry-after') ?? NaN)
  return new ServiceRefusal(
    { status, code: code ?? `HTTP_${status}`, message: error ?? messageOfStatus(response), body },
    Number.isFinite(seconds) && seconds >= 0 ? seconds * 1000 : undefined,
  )
}

/** The message for an answer without an error body, such as that of a proxy. */
function messageOfStatus(response: IncomingMessage): string {
  const { statusCode = 0, statusMessage = '' } = response
  const said = `the service answered ${statusCode} ${statusMessage}`.trim()
  const elsewhere = headerOf(response, 'location')
  return elsewhere === undefined ? said : `${said}: use --url ${elsewhere} instead`
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

/** The path of a table below /api/v1. */
export function tablePath(table: string): string {
  return `/tables/${encodeURIComponent(table)}`
}

/** The path of a document below /api/v1; `fields` is a list separated by commas. */
/** What a lookup asks for. */
export interface LookupParameters {
  readonly fields?: string
  /** Whether any replica may answer. */
  readonly stale?: boolean
}

export function lookupPath(table: string, key: string, parameters: LookupParameters = {}): string {
  const { fields, stale } = parameters
  const given = [
    ...(fields === undefined ? [] : [`fields=${encodePart(fields)}`]),
    ...(stale === true ? ['consistency=stale'] : []),
  ]
  const query = given.length === 0 ? '' : `?${given.join('&')}`
  return `${tablePath(table)}/lookup/${encodePart(key)}${query}`
}

/** Like encodeURIComponent, but keeps `@`, `:` and `,`, which need no encoding here (RFC 3986, 3.3). */
function encodePart(text: string): string {
  return encodeURIComponent(text).replaceAll(/%(?:40|3A|2C)/g, decodeURIComponent)
}
