// Downloads URLs that clients name. Clients are not trusted: one may try to reach hosts that only
// this machine can reach, or to keep the machine busy.
//
// Invariants:
//   MD1  Every connection goes to an address that was checked for this request, also after a
//        redirect; the host's name is not resolved again. A TLS certificate must match the host's
//        name.
//   MD2  At most `downloadBytesMax` bytes of a body are held. The headers cannot change that.
//   MD3  A download ends with its deadline or with the caller's signal, and leaves no connection.

import { lookup as lookupAddresses } from 'node:dns/promises'
import { once } from 'node:events'
import * as http from 'node:http'
import type { IncomingMessage } from 'node:http'
import * as https from 'node:https'
import type { RequestOptions } from 'node:https'
import { isIP } from 'node:net'
import type { LookupFunction } from 'node:net'
import type { Clock } from '../clock.ts'
import { ServiceError, isServiceError } from '../errors.ts'
import { ByteCollector } from '../http/byte-collector.ts'
import { beginInTurn, runSliced, SliceClock } from '../sliced.ts'
import type { DownloadLimits } from './download-limits.ts'
import { checkHost, hostOf, parseMediaUrl } from './host-policy.ts'
import type { CheckedHost, NetworkView } from './host-policy.ts'
import { PassingFailure } from './passing-failure.ts'
import { isPublicAddress } from './public-address.ts'

const REDIRECTS_MAX = 5
const REDIRECT_STATUSES: ReadonlySet<number> = new Set([301, 302, 303, 307, 308])
const OK = 200
/** The statuses below 500 that may end differently later. */
const PASSING_STATUSES: ReadonlySet<number> = new Set([408, 425, 429])

const internet: NetworkView = {
  resolve: async (host) => {
    const found = await lookupAddresses(host, { all: true })
    return found.map(({ address }) => address)
  },
  isPublic: isPublicAddress,
}

/** The limits of downloads, and replaceable parts for tests. */
export interface DownloaderParts {
  readonly limits: DownloadLimits
  readonly clock: Clock
  /** Absent: the system's resolver and the public addresses of the Internet. */
  readonly network?: NetworkView
  /** The trusted certificate authorities, as PEM. Absent: those that Node trusts. */
  readonly certificateAuthorities?: string
}

/**
 * The account that a download charges its bytes to. `add` throws or rejects with OVERLOADED when there
 * is not enough room; it may wait for room before that, and the host's bytes then wait in the network.
 */
export interface DownloadMemory {
  add(bytes: number): void | Promise<void>
  release(bytes: number): void
}

/** How one body is downloaded. */
export interface DownloadOptions {
  readonly signal: AbortSignal
  readonly memory: DownloadMemory
  /** The media types that the caller reads, for the host. */
  readonly accept: string
  /** For this host alone, such as a signature: a redirect is refused then. */
  readonly headers?: Readonly<Record<string, string>>
}

/** A downloaded body. */
export interface DownloadedBody {
  readonly bytes: Buffer
  /** As the host gave it. */
  readonly contentType: string | undefined
}

/** Downloads one body for each call, over a connection of its own (MD1 to MD3). */
export class MediaDownloader {
  readonly #limits: DownloadLimits
  readonly #clock: Clock
  readonly #network: NetworkView
  readonly #certificateAuthorities: string | undefined

  constructor({ limits, clock, network = internet, certificateAuthorities }: DownloaderParts) {
    this.#limits = limits
    this.#clock = clock
    this.#network = network
    this.#certificateAuthorities = certificateAuthorities
  }

  /**
   * Resolves to the body. Rejects with INVALID_ARGUMENT when the URL is refused or the download
   * fails, which is a PassingFailure where another try may succeed; with OVERLOADED when there is not enough memory for it, and with the signal's reason.
   */
  async download(text: string, options: DownloadOptions): Promise<DownloadedBody> {
    const { signal } = options
    signal.throwIfAborted()
    const url = parseMediaUrl(text, this.#limits.allowedHosts)
    using deadline = new Deadline(this.#clock, this.#limits.downloadTimeoutMs, signal)
    try {
      return await deadline.race(this.#follow(url, { ...options, signal: deadline.signal }))
    } catch (error) {
      signal.throwIfAborted()
      if (deadline.isOver) {
        throw new PassingFailure(`no answer within ${this.#limits.downloadTimeoutMs} ms`)
      }
      throw isServiceError(error) ? error : failureOf(error)
    }
  }

  async #follow(first: URL, options: DownloadOptions): Promise<DownloadedBody> {
    let url = first
    for (let redirects = 0; redirects <= REDIRECTS_MAX; redirects += 1) {
      const response = await this.#request(url, options)
      try {
        const next = this.#redirectOf(response, url)
        if (next === undefined) return await this.#readBody(response, options)
        if (options.headers !== undefined) throw refuse('the host redirects a signed request')
        url = next
      } finally {
        response.destroy()
      }
    }
    throw refuse(`more than ${REDIRECTS_MAX} redirects`)
  }

  async #request(url: URL, options: DownloadOptions): Promise<IncomingMessage> {
    const { signal } = options
    const checked = await checkHost(url, this.#network, this.#limits)
    const [response] = await beginInTurn(() => this.#send(checked, options), {
      clock: this.#clock,
      signal,
    })
    if (response === undefined) throw new PassingFailure('no answer')
    return response
  }

  #send(checked: CheckedHost, options: DownloadOptions): Promise<IncomingMessage[]> {
    const request = (checked.url.protocol === 'https:' ? https : http).request({
      ...requestOptions(checked, options),
      ca: this.#certificateAuthorities,
    })
    // An abort after the response is reported by the response; this keeps it from being unhandled.
    request.on('error', () => {})
    request.end()
    return once(request, 'response')
  }

  #redirectOf({ statusCode, headers }: IncomingMessage, from: URL): URL | undefined {
    if (statusCode === OK) return undefined
    if (statusCode === undefined || !REDIRECT_STATUSES.has(statusCode)) {
      const why = `the host answered with status ${statusCode}`
      const mayPass = statusCode === undefined || statusCode >= 500
      throw mayPass || PASSING_STATUSES.has(statusCode) ? new PassingFailure(why) : refuse(why)
    }
    if (headers.location === undefined) throw refuse('the host redirects to nowhere')
    return parseMediaUrl(headers.location, this.#limits.allowedHosts, from)
  }

  async #readBody(
    response: IncomingMessage,
    { signal, memory }: DownloadOptions,
  ): Promise<DownloadedBody> {
    const { 'content-encoding': encoding = 'identity' } = response.headers
    if (encoding !== 'identity') throw refuse(`the host sends ${encoding}, which was not asked for`)
    const { downloadBytesMax } = this.#limits
    const tooLarge = (): ServiceError => refuse(`the body is larger than ${downloadBytesMax} bytes`)
    if (Number(response.headers['content-length'] ?? 0) > downloadBytesMax) throw tooLarge()
    const collector = new ByteCollector(Number(response.headers['content-length'] ?? 0))
    // Hundreds of hosts that send without end share the turns; what a download does not take waits in the network.
    const slice = new SliceClock(this.#clock)
    for await (const chunk of response) {
      if (slice.isOver) await slice.turn()
      if (!Buffer.isBuffer(chunk)) continue // cannot happen, because no encoding is set
      if (collector.length + chunk.length > downloadBytesMax) throw tooLarge()
      await memory.add(chunk.length)
      collector.add(chunk)
    }
    const { length } = collector
    await memory.add(length)
    const work = { clock: this.#clock, signal }
    const bytes = collector.whole() ?? (await runSliced(collector.join(), work))
    memory.release(length)
    return { bytes, contentType: response.headers['content-type'] }
  }
}

function requestOptions(
  { url, addresses }: CheckedHost,
  { signal, accept, headers }: DownloadOptions,
): RequestOptions {
  return {
    protocol: url.protocol,
    hostname: hostOf(url),
    port: url.port,
    path: `${url.pathname}${url.search}`,
    headers: { accept, 'accept-encoding': 'identity', 'user-agent': 'quarry', ...headers },
    agent: false, // a new connection: a kept one may lead to another address
    lookup: pinnedLookup(addresses),
    signal,
  }
}

/**
 * Answers the checked addresses instead of resolving (MD1). Node does not call it for IP addresses.
 */
function pinnedLookup(addresses: readonly string[]): LookupFunction {
  const found = addresses.map((address) => ({ address, family: isIP(address) }))
  return (_host, options, callback) => {
    const [first] = found
    if (options.all === true) callback(null, found)
    else callback(null, first?.address ?? '', first?.family)
  }
}

/** A signal that aborts with the caller's signal or after the given time. */
class Deadline implements Disposable {
  readonly #timer = new AbortController()
  readonly #over = new AbortController()
  readonly signal: AbortSignal

  constructor(clock: Clock, ms: number, caller: AbortSignal) {
    this.signal = AbortSignal.any([caller, this.#over.signal])
    const wait = async (): Promise<void> => {
      try {
        await clock.sleep(ms, this.#timer.signal)
      } catch {
        return // the download ended first
      }
      this.#over.abort()
    }
    void wait()
  }

  get isOver(): boolean {
    return this.#over.signal.aborted
  }

  /** Ends the wait for work that ignores the signal, such as name resolution. */
  async race<T>(work: Promise<T>): Promise<T> {
    const { promise, reject } = Promise.withResolvers<never>()
    const onAbort = (): void => reject(this.signal.reason)
    this.signal.addEventListener('abort', onAbort, { once: true })
    try {
      return await Promise.race([work, promise])
    } finally {
      this.signal.removeEventListener('abort', onAbort)
    }
  }

  [Symbol.dispose](): void {
    this.#timer.abort()
  }
}

/** By the code that Node or OpenSSL gives the error. */
const REASON_BY_CODE: ReadonlyMap<string, string> = new Map([
  ['ERR_TLS_CERT_ALTNAME_INVALID', "the host's certificate is not for this name"],
  ...[
    'DEPTH_ZERO_SELF_SIGNED_CERT',
    'SELF_SIGNED_CERT_IN_CHAIN',
    'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
    'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
  ].map((code) => [code, "the host's certificate is not from a trusted authority"] as const),
])

/** A certificate that is wrong stays so; a connection that broke may hold the next time. */
function failureOf(error: unknown): ServiceError {
  const given = error instanceof Error && 'code' in error ? error.code : undefined
  const code = typeof given === 'string' ? given : 'unknown reason'
  const known = REASON_BY_CODE.get(code)
  return known === undefined
    ? new PassingFailure(`the download failed (${code})`, error)
    : refuse(`${known} (${code})`, error)
}

function refuse(why: string, cause?: unknown): ServiceError {
  return new ServiceError('INVALID_ARGUMENT', why, { cause })
}
