// Requests to providers: a body out, a bounded answer back, over connections that are kept.
//
// Invariants:
//   PH1  At most `answerBytesMax` bytes of an answer are held, whatever its headers say.
//   PH2  A request ends with its answer, its deadline or the caller's signal, and leaves nothing behind but a
//        connection that can serve the next one.
//   PH3  A connection goes only to addresses that its rule allows (url-rules.ts, UR1). Redirects are not followed.

import { once } from 'node:events'
import * as http from 'node:http'
import type { ClientRequest, IncomingMessage } from 'node:http'
import * as https from 'node:https'
import { must } from '../../../lib/assert.ts'
import type { Clock } from '../../../lib/clock.ts'
import { prodWhenLate } from '../../../lib/deadline.ts'
import { ByteCollector } from '../../../lib/http/byte-collector.ts'
import { beginInTurn, runSliced, SliceClock } from '../../../lib/sliced.ts'
import type { Env } from '../../../lib/env.ts'
import { ADDRESS_REFUSED, checkLiteralAddress, checkedLookup } from '../access/url-rules.ts'
import type { AddressRule, IsPublic } from '../access/url-rules.ts'

const SOCKETS_PER_HOST_MAX = 32
const IDLE_SOCKETS_MAX = 8
/** Below the idle time of usual servers, which close connections after 5 s or later. */
const IDLE_MS = 4_000

/** One request. */
export interface HttpAsk {
  readonly method?: 'POST' | 'GET'
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string | Uint8Array
  readonly addresses: AddressRule
  readonly answerBytesMax: number
  readonly timeoutMs: number
  readonly signal: AbortSignal
}

/** A whole answer. */
export interface HttpAnswer {
  readonly status: number
  readonly headers: http.IncomingHttpHeaders
  readonly body: Buffer
}

/** Why there is no whole answer. The message is for people and holds nothing of the request. */
export class HttpFailure extends Error {
  override readonly name = 'HttpFailure'

  /** Whether the rules of addresses refused the host, so that asking again changes nothing. */
  get isRefusal(): boolean {
    return codeOf(this.cause) === ADDRESS_REFUSED
  }
}

/** The parts of the client. */
export interface ProviderHttpParts {
  readonly clock: Clock
  /** Whether an address belongs to the public Internet. */
  readonly isPublic: IsPublic
  /** The environment. Its proxies are used if it has NODE_USE_ENV_PROXY=1, as Node's own clients do. */
  readonly env: Env
}

const PROXY_VARIABLES = ['http_proxy', 'https_proxy', 'HTTP_PROXY', 'HTTPS_PROXY']

interface Agents {
  readonly 'http:': http.Agent
  readonly 'https:': https.Agent
}

/**
 * The HTTP client of all providers of a node. Node's own settings hold for it: certificate authorities by
 * NODE_EXTRA_CA_CERTS, and proxies by NODE_USE_ENV_PROXY. Behind a proxy, the proxy resolves names, and its rules
 * hold for them.
 */
export class ProviderHttp implements Disposable {
  readonly #parts: ProviderHttpParts
  /** One set for each rule, so that no request takes a connection that a laxer rule allowed. */
  readonly #agents = new Map<AddressRule, Agents>()

  readonly #proxyEnv: Env | undefined
  readonly #proxyHosts: ReadonlySet<string>

  constructor(parts: ProviderHttpParts) {
    this.#parts = parts
    const { env } = parts
    this.#proxyEnv = env['NODE_USE_ENV_PROXY'] === '1' ? env : undefined
    const proxies = PROXY_VARIABLES.map((name) => URL.parse(this.#proxyEnv?.[name] ?? ''))
    this.#proxyHosts = new Set(proxies.flatMap((url) => url?.hostname ?? []))
  }

  /**
   * Resolves to an answer of any status. Rejects with the signal's reason, or with an HttpFailure. A request
   * that met a connection which the server had closed meanwhile is made once more.
   */
  async ask(ask: HttpAsk): Promise<HttpAnswer> {
    const late = new AbortController()
    const signal = AbortSignal.any([ask.signal, late.signal])
    const { clock } = this.#parts
    const work = this.#askAgain({ ...ask, signal })
    try {
      return await prodWhenLate(work, { clock, ms: ask.timeoutMs, onLate: () => late.abort() })
    } catch (error) {
      ask.signal.throwIfAborted()
      if (late.signal.aborted) {
        throw new HttpFailure(`no whole answer within ${ask.timeoutMs} ms`, { cause: error })
      }
      throw error instanceof HttpFailure
        ? error
        : new HttpFailure(reasonOf(error), { cause: error })
    }
  }

  /** Closes idle connections. Requests that run end first. */
  [Symbol.dispose](): void {
    for (const agents of this.#agents.values()) {
      for (const agent of Object.values(agents)) agent.destroy()
    }
    this.#agents.clear()
  }

  async #askAgain(ask: HttpAsk): Promise<HttpAnswer> {
    try {
      return await this.#askOnce(ask, this.#agentsOf(ask.addresses))
    } catch (error) {
      if (!(error instanceof StaleConnection)) throw error
      return this.#askOnce(ask, this.#openAgents({ keepAlive: false }))
    }
  }

  async #askOnce(ask: HttpAsk, agents: Agents): Promise<HttpAnswer> {
    const { signal } = ask
    const { clock } = this.#parts
    const response = await beginInTurn(() => this.#send(ask, agents), { clock, signal })
    try {
      return {
        status: response.statusCode ?? 0,
        headers: response.headers,
        body: await this.#read(response, ask),
      }
    } finally {
      if (!response.complete) response.destroy()
    }
  }

  #send(ask: HttpAsk, agents: Agents): Promise<IncomingMessage> {
    const { addresses, signal, body } = ask
    const url = new URL(ask.url)
    const { isPublic } = this.#parts
    checkLiteralAddress(url, addresses, isPublic)
    const isSafe = url.protocol === 'https:'
    const request = (isSafe ? https : http).request(url, {
      method: ask.method ?? 'POST',
      headers: { ...ask.headers, 'accept-encoding': 'identity', 'user-agent': 'quarry' },
      agent: agents[isSafe ? 'https:' : 'http:'],
      lookup: checkedLookup({ rule: addresses, isPublic, proxyHosts: this.#proxyHosts }),
      signal,
    })
    request.end(body)
    return answerOf(request)
  }

  async #read(response: IncomingMessage, { answerBytesMax, signal }: HttpAsk): Promise<Buffer> {
    const announced = Number(response.headers['content-length'] ?? 0)
    const collector = new ByteCollector(Math.min(announced, answerBytesMax))
    const { clock } = this.#parts
    // Hundreds of models that send without end share the turns; what an answer does not take waits in the network.
    const slice = new SliceClock(clock)
    for await (const chunk of response) {
      if (slice.isOver) await slice.turn()
      if (!Buffer.isBuffer(chunk)) continue // cannot happen, because no encoding is set
      if (collector.length + chunk.length > answerBytesMax) {
        throw new HttpFailure(`the answer has more than ${answerBytesMax} bytes`)
      }
      collector.add(chunk)
    }
    return collector.whole() ?? (await runSliced(collector.join(), { clock, signal }))
  }

  #agentsOf(rule: AddressRule): Agents {
    const known = this.#agents.get(rule)
    if (known !== undefined) return known
    const agents = this.#openAgents({
      keepAlive: true,
      maxSockets: SOCKETS_PER_HOST_MAX,
      maxFreeSockets: IDLE_SOCKETS_MAX,
      timeout: IDLE_MS,
      scheduling: 'lifo',
    })
    this.#agents.set(rule, agents)
    return agents
  }

  #openAgents(given: http.AgentOptions): Agents {
    const options = { ...given, ...(this.#proxyEnv && { proxyEnv: this.#proxyEnv }) }
    return { 'http:': new http.Agent(options), 'https:': new https.Agent(options) }
  }
}

/** The server closed a kept connection before it saw the request. */
class StaleConnection extends Error {
  override readonly name = 'StaleConnection'
}

async function answerOf(request: ClientRequest): Promise<IncomingMessage> {
  try {
    const [response]: IncomingMessage[] = await once(request, 'response')
    // An abort after the response is reported by the response; this keeps it from being unhandled.
    request.on('error', () => {})
    return must(response, 'a response')
  } catch (error) {
    request.on('error', () => {})
    const code = codeOf(error)
    const isClosed = code === 'ECONNRESET' || code === 'EPIPE'
    if (request.reusedSocket && isClosed) throw new StaleConnection('closed', { cause: error })
    throw error
  }
}

const REASON_BY_CODE: ReadonlyMap<string, string> = new Map([
  ['ECONNREFUSED', 'nothing listens there; start that server, or set its url'],
  ['ECONNRESET', 'the connection broke'],
  ['EPIPE', 'the connection broke'],
  ['ETIMEDOUT', 'the host cannot be reached'],
  ['EHOSTUNREACH', 'the host cannot be reached'],
  ['ENETUNREACH', 'the host cannot be reached'],
  ['ENOTFOUND', 'the host has no address'],
  ['EAI_AGAIN', 'the host cannot be resolved'],
  [
    ADDRESS_REFUSED,
    "the host's address is not allowed; the operator may name it in the node's provider hosts",
  ],
  ['ERR_TLS_CERT_ALTNAME_INVALID', "the host's certificate is not for this name"],
  ['CERT_HAS_EXPIRED', "the host's certificate has expired"],
  ['DEPTH_ZERO_SELF_SIGNED_CERT', "the host's certificate is not from a trusted authority"],
  ['SELF_SIGNED_CERT_IN_CHAIN', "the host's certificate is not from a trusted authority"],
  ['UNABLE_TO_VERIFY_LEAF_SIGNATURE', "the host's certificate is not from a trusted authority"],
])

function reasonOf(error: unknown): string {
  const code = codeOf(error) ?? 'unknown reason'
  return `${REASON_BY_CODE.get(code) ?? 'the request failed'} (${code})`
}

function codeOf(error: unknown): string | undefined {
  const code = error instanceof Error && 'code' in error ? error.code : undefined
  return typeof code === 'string' ? code : undefined
}
