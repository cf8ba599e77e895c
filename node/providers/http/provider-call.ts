// One call of a provider: JSON out, JSON or bytes back, and every failure as a ProviderError.

import type { Clock } from '../../../lib/clock.ts'
import type { ResolvedEndpoint } from '../access/provider-access.ts'
import { ProviderError, refused, unavailable } from '../contract/provider-error.ts'
import { HttpFailure } from './provider-http.ts'
import type { HttpAnswer, HttpAsk, ProviderHttp } from './provider-http.ts'
import { parseRetryAfterMs } from './retry-after.ts'

/** A call of an operation below an endpoint. */
export interface CallRequest {
  /** The provider and its model, for messages. */
  readonly name: string
  readonly endpoint: ResolvedEndpoint
  /** Follows the endpoint's URL; begins with a slash. */
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: unknown
  readonly answerBytesMax: number
  readonly timeoutMs: number
  readonly signal: AbortSignal
}

/** Answers that are errors are read so far. */
const ERROR_BYTES_MIN = 64 * 1024

const OK = 200
const TOO_MANY_REQUESTS = 429
const OVERLOADED_STATUSES: ReadonlySet<number> = new Set([503, 529])
/** The statuses from 400 to 499 that may end differently later. */
const PASSING_STATUSES: ReadonlySet<number> = new Set([408, 409, 423, 425])

/** The client of all providers. */
export class ProviderCaller {
  readonly #http: ProviderHttp
  readonly #clock: Clock

  constructor(http: ProviderHttp, clock: Clock) {
    this.#http = http
    this.#clock = clock
  }

  /** The JSON of a good answer. */
  async callForJson(request: CallRequest): Promise<unknown> {
    const { body } = await this.call({
      ...request,
      headers: { accept: 'application/json', ...request.headers },
    })
    try {
      return JSON.parse(body.toString())
    } catch {
      throw unavailable(`${request.name}: the answer is not JSON`)
    }
  }

  /** A good answer. Rejects with a ProviderError, or with the signal's reason. */
  call(request: CallRequest): Promise<HttpAnswer> {
    const { name, endpoint, path, headers, body, answerBytesMax, timeoutMs, signal } = request
    const { url, addresses } = endpoint
    return this.send(name, endpoint, {
      url: `${url}${path}`,
      headers: { 'content-type': 'application/json', ...headers },
      body: JSON.stringify(body),
      addresses,
      answerBytesMax,
      timeoutMs,
      signal,
    })
  }

  /** The same for a request that is made already. */
  async send(
    name: string,
    { redact, mayBeQuoted }: Pick<ResolvedEndpoint, 'redact' | 'mayBeQuoted'>,
    ask: HttpAsk,
  ): Promise<HttpAnswer> {
    const answerBytesMax = Math.max(ask.answerBytesMax, ERROR_BYTES_MIN)
    const answer = await this.#http.ask({ ...ask, answerBytesMax }).catch((error: unknown) => {
      if (!(error instanceof HttpFailure)) throw error
      // The cause is left out: errors of Node quote hosts, and nothing shows that they quote no more.
      const message = redact(`${name}: ${error.message}`)
      throw error.isRefusal ? refused(message) : unavailable(message)
    })
    if (answer.status === OK) return answer
    throw this.#failureOf(answer, name, mayBeQuoted ? saidBy(answer.body, redact) : undefined)
  }

  #failureOf(
    { status, headers }: HttpAnswer,
    name: string,
    said: string | undefined,
  ): ProviderError {
    const message = `${name}: status ${status}${said === undefined ? '' : `: ${said}`}`
    const retryAfterMs = parseRetryAfterMs(headers['retry-after'], this.#clock.nowMs())
    const asksToWait = OVERLOADED_STATUSES.has(status) && retryAfterMs !== undefined
    if (status === TOO_MANY_REQUESTS || asksToWait) {
      const wait = retryAfterMs === undefined ? {} : { retryAfterMs }
      return new ProviderError({ kind: 'rate_limited', ...wait }, message)
    }
    if (status >= 300 && status < 400) {
      return refused(`${message}; redirects are not followed, so name the last URL`)
    }
    const isFinal = status >= 400 && status < 500 && !PASSING_STATUSES.has(status)
    return isFinal ? refused(message) : unavailable(message)
  }
}

const SAID_CHARS_MAX = 300
const PARSED_BYTES_MAX = 64 * 1024

/**
 * What the provider says about its failure: a member of its JSON, or a short text. It may quote the request,
 * so it is redacted before it is cut.
 */
function saidBy(body: Buffer, redact: (message: string) => string): string | undefined {
  const text = body.toString('utf8', 0, PARSED_BYTES_MAX)
  const said = messageIn(parsed(text)) ?? (/^\s*[<{]/.test(text) ? '' : text)
  const clean = redact(said)
    .replaceAll(/[\p{Cc}\p{Cf}\s]+/gu, ' ')
    .trim()
  return clean === '' ? undefined : clean.slice(0, SAID_CHARS_MAX).toWellFormed()
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** The places where providers put the sentence. */
const MESSAGE_MEMBERS = ['error', 'message', 'detail', 'Message']

function messageIn(value: unknown): string | undefined {
  if (typeof value === 'string') return value
  if (typeof value !== 'object' || value === null) return undefined
  const members = new Map<string, unknown>(Object.entries(value))
  for (const name of MESSAGE_MEMBERS) {
    const found = messageIn(members.get(name))
    if (found !== undefined) return found
  }
  return undefined
}
