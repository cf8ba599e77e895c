// HTTP with a hub that speaks the paths of huggingface.co:
//
//   GET {endpoint}/api/models/{owner}/{name}/tree/{revision}?recursive=true
//       pages, the next one by a Link header with rel="next"
//   GET {endpoint}/{owner}/{name}/resolve/{revision}/{path}
//       the bytes, or a redirect to them; Range is honoured
//
// The token is sent only to the endpoint's own origin. A redirect to a content network carries its own
// signature, and other servers must not see the token.

import type { ModelName } from './model-name.ts'
import { parseListing } from './hub-listing.ts'
import type { HubFile } from './hub-listing.ts'
import { ServiceError, messageOf } from '../../../lib/errors.ts'

const REDIRECTS_MAX = 5
const PAGES_MAX = 100
const LISTING_BYTES_MAX = 32 * 1024 * 1024

/** The address of a hub, and the token for models with restricted access. */
export interface HubSettings {
  /** An address such as `https://huggingface.co`. It may have a path. */
  readonly endpoint: string
  readonly token: string | undefined
}

/** A model's repository at one revision: a branch, tag or commit. */
export interface Repository extends ModelName {
  readonly revision: string
}

/** Failures that a retry cannot resolve: an unknown host, a bad port, a certificate without trust. */
const FINAL_REASONS: ReadonlySet<string> = new Set([
  'ENOTFOUND',
  'EPROTO',
  'ERR_INVALID_URL',
  'ERR_TLS_CERT_ALTNAME_INVALID',
  'CERT_HAS_EXPIRED',
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'SELF_SIGNED_CERT_IN_CHAIN',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
  'bad port',
])

/** A failure that a retry may resolve. All other errors of this file are final. */
export class RetryableHubError extends Error {
  override readonly name = 'RetryableHubError'
  /** The time that the hub asked to wait, by Retry-After; 0: none. */
  readonly afterMs: number

  constructor(message: string, { afterMs = 0, cause }: { afterMs?: number; cause?: unknown } = {}) {
    super(message, { cause })
    this.afterMs = afterMs
  }
}

/** The bytes of a file that are arriving. */
export interface FileBody {
  /** The index of the first byte: the requested one, or 0 from a server without ranges. */
  readonly from: number
  readonly chunks: AsyncIterable<Uint8Array>
}

/**
 * Requests to one hub. They reject with RetryableHubError when a retry may help, with a ServiceError when
 * it cannot, and with the signal's reason.
 */
export class HubClient {
  readonly #endpoint: URL
  readonly #token: string | undefined

  constructor({ endpoint, token }: HubSettings) {
    this.#endpoint = parseEndpoint(endpoint)
    this.#token = token
  }

  /** All usable files of a repository. */
  async listFiles(repository: Repository, signal: AbortSignal): Promise<HubFile[]> {
    const { owner, name, revision } = repository
    const path = `api/models/${owner}/${name}/tree/${encodeURIComponent(revision)}?recursive=true`
    const files: HubFile[] = []
    let next: URL | undefined = new URL(path, this.#endpoint)
    for (let page = 0; next !== undefined; page += 1) {
      if (page === PAGES_MAX) throw new ServiceError('UNAVAILABLE', 'the hub lists too many files')
      const response: Response = await this.#get(next, {}, signal)
      if (response.status !== 200) throw await explain(response, repository)
      files.push(...parseListing(await readJson(response)))
      next = this.#nextPage(response, next)
    }
    return files
  }

  /** The bytes of a file from `from` on, which must lie before its end: a range cannot be empty. */
  async openFile(
    repository: Repository,
    { path, from }: { readonly path: string; readonly from: number },
    signal: AbortSignal,
  ): Promise<FileBody> {
    const { owner, name, revision } = repository
    const place = `${owner}/${name}/resolve/${encodeURIComponent(revision)}/${encodePath(path)}`
    const headers = from === 0 ? {} : { range: `bytes=${from}-` }
    const response = await this.#get(new URL(place, this.#endpoint), headers, signal)
    const { status, body } = response
    if (status === 206) {
      if (beginOf(response) === from) return { from, chunks: readBody(body) }
      await body?.cancel()
      throw new RetryableHubError('the hub answered with a range that was not requested')
    }
    if (status === 200) return { from: 0, chunks: readBody(body) }
    if (status === 416 && from > 0) {
      await body?.cancel()
      return this.openFile(repository, { path, from: 0 }, signal)
    }
    throw await explain(response, repository)
  }

  async #get(first: URL, headers: Record<string, string>, signal: AbortSignal): Promise<Response> {
    let url = first
    for (let redirects = 0; redirects <= REDIRECTS_MAX; redirects += 1) {
      const response = await this.#fetch(url, headers, signal)
      const location = response.headers.get('location')
      if (response.status < 300 || response.status > 399 || location === null) return response
      await response.body?.cancel()
      url = checkRedirect(url, location)
    }
    throw new ServiceError('UNAVAILABLE', `the hub redirects more than ${REDIRECTS_MAX} times`)
  }

  async #fetch(url: URL, headers: Record<string, string>, signal: AbortSignal): Promise<Response> {
    const isOwn = url.origin === this.#endpoint.origin
    const authorization =
      isOwn && this.#token !== undefined ? { authorization: `Bearer ${this.#token}` } : {}
    try {
      // No compression, because a range would then count compressed bytes.
      const own = { 'accept-encoding': 'identity', 'user-agent': 'quarry' }
      return await fetch(url, {
        headers: { ...own, ...headers, ...authorization },
        redirect: 'manual',
        signal,
      })
    } catch (cause) {
      signal.throwIfAborted()
      const reason = reasonOf(cause)
      const message = `cannot reach ${url.host} (${reason})`
      if (!FINAL_REASONS.has(reason)) throw new RetryableHubError(message, { cause })
      throw new ServiceError('UNAVAILABLE', `${message}; check the endpoint`, { cause })
    }
  }

  #nextPage(response: Response, from: URL): URL | undefined {
    const link = /<([^>]+)>\s*;[^,]*\brel="?next"?/.exec(response.headers.get('link') ?? '')?.[1]
    const next = link === undefined ? null : URL.parse(link, from.href)
    return next?.origin === this.#endpoint.origin ? next : undefined
  }
}

function parseEndpoint(text: string): URL {
  const url = URL.parse(text.endsWith('/') ? text : `${text}/`)
  if (url !== null && (url.protocol === 'https:' || url.protocol === 'http:')) return url
  throw new ServiceError('INVALID_ARGUMENT', `the endpoint "${text}" is not an http(s) URL`)
}

function checkRedirect(from: URL, location: string): URL {
  const to = URL.parse(location, from.href)
  const isDowngrade = from.protocol === 'https:' && to?.protocol !== 'https:'
  if (to !== null && /^https?:$/.test(to.protocol) && !isDowngrade) return to
  throw new ServiceError('UNAVAILABLE', 'the hub redirects to a URL that is not https')
}

function encodePath(path: string): string {
  return path.split('/').map(encodeURIComponent).join('/')
}

function beginOf(response: Response): number | undefined {
  const begin = /^bytes (\d+)-/.exec(response.headers.get('content-range') ?? '')?.[1]
  return begin === undefined ? undefined : Number(begin)
}

async function* readBody(body: ReadableStream<Uint8Array> | null): AsyncIterable<Uint8Array> {
  if (body === null) return
  try {
    yield* body
  } catch (cause) {
    throw new RetryableHubError(`the connection broke (${reasonOf(cause)})`, { cause })
  }
}

async function readJson(response: Response): Promise<unknown> {
  const chunks: Uint8Array[] = []
  let bytes = 0
  for await (const chunk of readBody(response.body)) {
    bytes += chunk.length
    if (bytes > LISTING_BYTES_MAX) {
      throw new ServiceError('UNAVAILABLE', 'the hub lists too many files')
    }
    chunks.push(chunk)
  }
  try {
    return JSON.parse(Buffer.concat(chunks).toString('utf8'))
  } catch (cause) {
    const message = 'the hub did not answer with JSON; check the endpoint'
    throw new ServiceError('UNAVAILABLE', message, { cause })
  }
}

async function explain(response: Response, { owner, name, revision }: Repository): Promise<Error> {
  const { status } = response
  await response.body?.cancel()
  // Hubs also answer 401 for missing models, so that nobody learns which private ones exist.
  if (status === 401 || status === 403 || status === 404) {
    const message =
      `the hub does not give ${owner}/${name} (revision ${revision}, status ${status}): ` +
      'check the name; for a model with restricted access set HF_TOKEN'
    return new ServiceError(status === 404 ? 'NOT_FOUND' : 'FORBIDDEN', message)
  }
  if (status === 408 || status === 429 || status >= 500) {
    const seconds = Number(response.headers.get('retry-after') ?? 0)
    const afterMs = Number.isFinite(seconds) ? seconds * 1000 : 0
    return new RetryableHubError(`the hub answered with status ${status}`, { afterMs })
  }
  return new ServiceError('UNAVAILABLE', `the hub answered with status ${status}`)
}

function reasonOf(error: unknown): string {
  const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error
  if (cause instanceof Error && 'code' in cause && typeof cause.code === 'string') return cause.code
  return messageOf(cause)
}
