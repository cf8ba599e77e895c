// Downloads what a client points at, as an untrusted errand: the client may want to reach what only
// this machine can reach, or to keep it busy.
//
// Invariants:
//   MD1  Every connection goes to an address that was checked for exactly this request, also after
//        a redirect; the host's name is not resolved again. Over TLS the certificate must be the
//        host's by its name, whatever the address.
//   MD2  No more than `downloadBytesMax` bytes of a body are held, whatever the headers say.
//   MD3  A download ends with its deadline or with the caller's signal, and leaves no connection.

import { lookup as lookupAddresses } from 'node:dns/promises'
import { once } from 'node:events'
import * as http from 'node:http'
import type { IncomingMessage } from 'node:http'
import * as https from 'node:https'
import type { RequestOptions } from 'node:https'
import { isIP } from 'node:net'
import type { LookupFunction } from 'node:net'
import type { Clock } from '../../lib/clock.ts'
import { ServiceError, isServiceError } from '../../lib/errors.ts'
import { ByteCollector } from '../../lib/http/byte-collector.ts'
import type { HeldMemory } from '../../lib/http/request-memory.ts'
import { runSliced } from '../../lib/sliced.ts'
import { checkHost, hostOf, parseMediaUrl } from './host-policy.ts'
import type { CheckedHost, NetworkView } from './host-policy.ts'
import type { MediaLimits } from './media-limits.ts'
import { isPublicAddress } from './public-address.ts'

const REDIRECTS_MAX = 5
const REDIRECT_STATUSES: ReadonlySet<number> = new Set([301, 302, 303, 307, 308])
const OK = 200

const internet: NetworkView = {
  resolve: async (host) => {
    const found = await lookupAddresses(host, { all: true })
    return found.map(({ address }) => address)
  },
  isPublic: isPublicAddress,
}

export interface DownloaderParts {
  readonly limits: MediaLimits
  readonly clock: Clock
  /** The system's resolver and the Internet's public addresses, unless given. */
  readonly network?: NetworkView
  /** Authorities for certificates, as PEM, in place of those that Node trusts. */
  readonly certificateAuthorities?: string
}

export interface DownloadOptions {
  readonly signal: AbortSignal
  /** Charged with what is held. */
  readonly memory: HeldMemory
}

export class MediaDownloader {
  readonly #limits: MediaLimits
  readonly #clock: Clock
  readonly #network: NetworkView
  readonly #certificateAuthorities: string | undefined

  constructor({ limits, clock, network = internet, certificateAuthorities }: DownloaderParts) {
    this.#limits = limits
    this.#clock = clock
    this.#network = network
    this.#certificateAuthorities = certificateAuthorities
  }

  /** Rejects with INVALID_ARGUMENT when there is nothing to be had, or with the signal's reason. */
  async download(text: string, { signal, memory }: DownloadOptions): Promise<Uint8Array> {
    signal.throwIfAborted()
    const url = parseMediaUrl(text, this.#limits.allowedHosts)
    using deadline = new Deadline(this.#clock, this.#limits.downloadTimeoutMs, signal)
    try {
      return await deadline.race(this.#follow(url, { signal: deadline.signal, memory }))
    } catch (error) {
      signal.throwIfAborted()
      if (deadline.isOver) throw refuse(`no answer within ${this.#limits.downloadTimeoutMs} ms`)
      if (isServiceError(error)) throw error
      throw refuse(reasonOf(error), error)
    }
  }

  async #follow(first: URL, { signal, memory }: DownloadOptions): Promise<Uint8Array> {
    let url = first
    for (let redirects = 0; redirects <= REDIRECTS_MAX; redirects += 1) {
      const response = await this.#request(url, signal)
      try {
        const next = this.#redirectOf(response, url)
        if (next === undefined) return await this.#readBody(response, { signal, memory })
        url = next
      } finally {
        response.destroy()
      }
    }
    throw refuse(`more than ${REDIRECTS_MAX} redirects`)
  }

  async #request(url: URL, signal: AbortSignal): Promise<IncomingMessage> {
    const checked = await checkHost(url, this.#network, this.#limits)
    signal.throwIfAborted()
    const request = (url.protocol === 'https:' ? https : http).request({
      ...requestOptions(checked, signal),
      ca: this.#certificateAuthorities,
    })
    // An abort after the response is reported by the response; this keeps it from being unhandled.
    request.on('error', () => {})
    request.end()
    const [response]: IncomingMessage[] = await once(request, 'response')
    if (response === undefined) throw refuse('no answer')
    return response
  }

  #redirectOf({ statusCode, headers }: IncomingMessage, from: URL): URL | undefined {
    if (statusCode === OK) return undefined
    if (statusCode === undefined || !REDIRECT_STATUSES.has(statusCode)) {
      throw refuse(`the host answered with status ${statusCode}`)
    }
    if (headers.location === undefined) throw refuse('the host redirects to nowhere')
    return parseMediaUrl(headers.location, this.#limits.allowedHosts, from)
  }

  async #readBody(
    response: IncomingMessage,
    { signal, memory }: DownloadOptions,
  ): Promise<Uint8Array> {
    const { downloadBytesMax } = this.#limits
    const tooLarge = (): ServiceError => refuse(`the body is larger than ${downloadBytesMax} bytes`)
    if (Number(response.headers['content-length'] ?? 0) > downloadBytesMax) throw tooLarge()
    const collector = new ByteCollector(Number(response.headers['content-length'] ?? 0))
    for await (const chunk of response) {
      if (!Buffer.isBuffer(chunk)) continue // never: no encoding is set
      if (collector.length + chunk.length > downloadBytesMax) throw tooLarge()
      memory.add(chunk.length)
      collector.add(chunk)
    }
    const { length } = collector
    memory.add(length)
    const work = { clock: this.#clock, signal }
    const bytes = collector.whole() ?? (await runSliced(collector.join(), work))
    memory.release(length)
    return bytes
  }
}

function requestOptions({ url, addresses }: CheckedHost, signal: AbortSignal): RequestOptions {
  return {
    protocol: url.protocol,
    hostname: hostOf(url),
    port: url.port,
    path: `${url.pathname}${url.search}`,
    headers: { accept: 'image/*', 'accept-encoding': 'identity', 'user-agent': 'quarry' },
    agent: false, // a connection of its own: a kept one may lead to another address
    lookup: pinnedLookup(addresses),
    signal,
  }
}

/** Answers what was checked instead of resolving; see MD1. Not asked for a host that is an address. */
function pinnedLookup(addresses: readonly string[]): LookupFunction {
  const found = addresses.map((address) => ({ address, family: isIP(address) }))
  return (_host, options, callback) => {
    const [first] = found
    if (options.all === true) callback(null, found)
    else callback(null, first?.address ?? '', first?.family)
  }
}

/** A signal that aborts with the caller's or when the time is over. */
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
        return // the download was done before
      }
      this.#over.abort()
    }
    void wait()
  }

  get isOver(): boolean {
    return this.#over.signal.aborted
  }

  /** For what does not listen to the signal, such as name resolution. */
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
  ].map(
    (code) => [code, "the host's certificate is of no authority that is trusted here"] as const,
  ),
])

function reasonOf(error: unknown): string {
  const given = error instanceof Error && 'code' in error ? error.code : undefined
  const code = typeof given === 'string' ? given : 'unknown reason'
  return `${REASON_BY_CODE.get(code) ?? 'the download failed'} (${code})`
}

function refuse(why: string, cause?: unknown): ServiceError {
  return new ServiceError('INVALID_ARGUMENT', `image_url: ${why}`, { cause })
}
