// Requests to the API server, with the credentials and the transport of @kubernetes/client-node.

import {
  HttpMethod,
  IsomorphicFetchHttpLibrary,
  RequestContext,
} from '@kubernetes/client-node/dist/gen/http/http.js'
import type { ResponseContext } from '@kubernetes/client-node/dist/gen/http/http.js'
import type { Clock } from '../../../lib/clock.ts'
import { apiErrorOf, unansweredError } from '../api/api-error.ts'
import type { KubeConfig } from './kube-config.ts'

/** A request that is answered takes milliseconds; the API server itself gives up after a minute. */
export const REQUEST_TIMEOUT_MS = 10_000
/**
 * After this, connections are made anew, with the certificates that the files have then. The library makes a pool of
 * connections for each request, which would cost a TLS handshake each.
 */
const POOL_AGE_MS_MAX = 10 * 60_000

type Pool = NonNullable<ReturnType<RequestContext['getDispatcher']>>

/** A request to the API server. */
export interface ApiRequest {
  readonly method: keyof typeof HttpMethod
  readonly path: string
  readonly contentType?: string
  readonly body?: unknown
}

/** One API server, and the credentials for it. Each answer is counted. */
export class ApiConnection {
  readonly #config: KubeConfig
  readonly #clock: Clock
  readonly #library = new IsomorphicFetchHttpLibrary()
  readonly #answers = new Map<string, number>()
  #pool: { readonly pool: Pool; readonly sinceMs: number } | undefined

  constructor(config: KubeConfig, clock: Clock) {
    this.#config = config
    this.#clock = clock
  }

  /** Answers so far by method and status: status 0 counts requests without an answer. */
  get answers(): ReadonlyMap<string, number> {
    return this.#answers
  }

  /** The JSON that the API answers. */
  async json(request: ApiRequest, signal: AbortSignal): Promise<unknown> {
    const late = new AbortController()
    const cancel = this.#clock.after(REQUEST_TIMEOUT_MS, () =>
      late.abort(new Error(`no answer within ${REQUEST_TIMEOUT_MS / 1000} s`)),
    )
    try {
      const response = await this.#send(request, AbortSignal.any([signal, late.signal]))
      return parsed(await response.body.text())
    } catch (error) {
      throw this.#translated(request, error, signal)
    } finally {
      cancel()
    }
  }

  /** The bytes of an answer that may last: only its head has a timeout. */
  async *stream(request: ApiRequest, signal: AbortSignal): AsyncGenerator<Uint8Array> {
    const stop = new AbortController()
    const cancel = this.#clock.after(REQUEST_TIMEOUT_MS, () =>
      stop.abort(new Error(`no answer within ${REQUEST_TIMEOUT_MS / 1000} s`)),
    )
    try {
      const response = await this.#send(request, AbortSignal.any([signal, stop.signal]))
      cancel()
      const body = response.body.stream()
      if (body !== null) for await (const bytes of body) yield bytes
    } catch (error) {
      throw this.#translated(request, error, signal)
    } finally {
      cancel()
      stop.abort()
    }
  }

  /** Closes the connections that no request uses. */
  async close(): Promise<void> {
    const last = this.#pool
    this.#pool = undefined
    await last?.pool.close()
  }

  async #send(request: ApiRequest, signal: AbortSignal): Promise<ResponseContext> {
    signal.throwIfAborted()
    const { server } = this.#config.getCurrentCluster() ?? {}
    if (server === undefined) throw new Error('the kubeconfig names no cluster')
    const context = new RequestContext(server + request.path, HttpMethod[request.method])
    context.setHeaderParam('Accept', 'application/json')
    if (request.body !== undefined) {
      context.setHeaderParam('Content-Type', request.contentType ?? 'application/json')
      context.setBody(JSON.stringify(request.body))
    }
    context.setSignal(signal)
    await this.#config.applySecurityAuthentication(context)
    this.#keepPool(context)
    const response = await this.#library.send(context).toPromise()
    this.#count(request, response.httpStatusCode)
    if (response.httpStatusCode < 300) return response
    const body = parsed(await response.body.text())
    throw apiErrorOf(response.httpStatusCode, body, {
      retryAfterMs: retryAfterMsIn(response.headers),
    })
  }

  #keepPool(context: RequestContext): void {
    const nowMs = this.#clock.monotonicMs()
    const isOld = this.#pool !== undefined && nowMs - this.#pool.sinceMs > POOL_AGE_MS_MAX
    if (isOld) void this.close().catch(() => undefined) // it ends with its last watch
    const fresh = context.getDispatcher()
    if (this.#pool !== undefined) context.setDispatcher(this.#pool.pool)
    else if (fresh !== undefined) this.#pool = { pool: fresh, sinceMs: nowMs }
  }

  #translated(request: ApiRequest, error: unknown, signal: AbortSignal): unknown {
    if (error instanceof Error && error.name === 'ApiError') return error
    if (signal.aborted) return signal.reason
    this.#count(request, 0)
    // Its connections may be the reason: the next request makes its own.
    void this.close().catch(() => undefined)
    return unansweredError(error)
  }

  #count({ method }: ApiRequest, status: number): void {
    const key = `${method} ${status}`
    this.#answers.set(key, (this.#answers.get(key) ?? 0) + 1)
  }
}

function retryAfterMsIn(headers: Readonly<Record<string, string>>): number | undefined {
  const seconds = Number(headers['retry-after'])
  return seconds > 0 ? seconds * 1000 : undefined
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
