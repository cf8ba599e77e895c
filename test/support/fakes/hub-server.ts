// A hub with the paths of huggingface.co, and a content network on another origin to which large
// files are redirected; with faults on demand.

import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import { close, portOf } from '../servers/local-server.ts'

/** What happens to the next request of a path instead of a good answer. */
export type HubFault =
  | { readonly kind: 'status'; readonly status: number; readonly retryAfter?: string }
  /** So many bytes of the body, and the connection is reset. */
  | { readonly kind: 'cut'; readonly afterBytes: number }
  /** So many bytes of the body, and nothing more. */
  | { readonly kind: 'stall'; readonly afterBytes: number }
  /** The right length, and a bit that is not. */
  | { readonly kind: 'wrong-bytes' }
  /** The whole file, whatever range was asked for. */
  | { readonly kind: 'no-range' }
  /** Another range than was asked for. */
  | { readonly kind: 'other-range' }
  | { readonly kind: 'redirect'; readonly location: string }

export interface HubRequest {
  readonly origin: 'hub' | 'cdn'
  readonly path: string
  readonly range: string | undefined
  readonly authorization: string | undefined
}

const LFS_BYTES_MIN = 1000

export class HubServer implements AsyncDisposable {
  /** Contents by `owner/name`, and in it by path. */
  readonly repositories = new Map<string, Map<string, Buffer>>()
  /** Entries of the listing that no content stands behind, by `owner/name`. */
  readonly extraEntries = new Map<string, readonly object[]>()
  readonly requests: HubRequest[] = []
  /** The token that every request to the hub needs; undefined for none. */
  token: string | undefined
  /** Entries of the listing on one page. */
  pageSize = 1000
  /** Called when the first bytes of a body that will not be whole were sent; then it is cut. */
  onPartSent: () => Promise<void> = () => Promise.resolve()

  readonly #faults = new Map<string, HubFault[]>()
  readonly #hub: Server
  readonly #cdn: Server
  #hubUrl = ''
  #cdnUrl = ''

  private constructor() {
    this.#hub = createServer((request, response) => this.#answerHub(request, response))
    this.#cdn = createServer((request, response) => this.#answerCdn(request, response))
  }

  static async open(): Promise<HubServer> {
    const server = new HubServer()
    server.#hubUrl = await listen(server.#hub)
    server.#cdnUrl = await listen(server.#cdn)
    return server
  }

  get endpoint(): string {
    return this.#hubUrl
  }

  add(model: string, files: Readonly<Record<string, string | Buffer>>): void {
    const contents = Object.entries(files).map(([path, content]) => {
      return [path, Buffer.from(content)] as const
    })
    this.repositories.set(model, new Map(contents))
  }

  /** Faults of a file's path, or of `tree` for the listing, one for each request in turn. */
  fail(path: string, ...faults: readonly HubFault[]): void {
    this.#faults.set(path, [...(this.#faults.get(path) ?? []), ...faults])
  }

  /** Paths of the files that bytes were asked of. */
  get fetched(): string[] {
    const pattern = /^\/[^/]+\/[^/]+\/resolve\/[^/]+\/(.+)$/
    return this.requests.flatMap(({ path }) => pattern.exec(path)?.[1] ?? [])
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const server of [this.#hub, this.#cdn]) await close(server)
  }

  #answerHub(request: IncomingMessage, response: ServerResponse): void {
    const url = this.#note('hub', request)
    if (this.token !== undefined && request.headers.authorization !== `Bearer ${this.token}`) {
      response.writeHead(401).end('{"error":"Invalid username or password."}')
      return
    }
    const tree = /^\/api\/models\/([^/]+\/[^/]+)\/tree\/[^/]+$/.exec(url.pathname)
    const file = /^\/([^/]+\/[^/]+)\/resolve\/[^/]+\/(.+)$/.exec(url.pathname)
    if (tree?.[1] !== undefined) this.#sendTree(tree[1], url, response)
    else if (file?.[1] === undefined || file[2] === undefined) response.writeHead(404).end()
    else this.#sendFile(file[1], decodeURIComponent(file[2]), request, response)
  }

  #answerCdn(request: IncomingMessage, response: ServerResponse): void {
    const url = this.#note('cdn', request)
    const [, owner = '', name = '', ...rest] = decodeURIComponent(url.pathname).split('/')
    const path = rest.join('/')
    const content = this.repositories.get(`${owner}/${name}`)?.get(path)
    if (content === undefined || url.searchParams.get('signature') !== 'good') {
      response.writeHead(403).end()
      return
    }
    this.#sendBytes({ path, content }, request, response)
  }

  #note(origin: HubRequest['origin'], request: IncomingMessage): URL {
    const url = new URL(request.url ?? '/', this.#hubUrl)
    const { range, authorization } = request.headers
    this.requests.push({ origin, path: url.pathname, range, authorization })
    return url
  }

  #sendTree(model: string, url: URL, response: ServerResponse): void {
    if (this.#failEarly('tree', response)) return
    const files = this.repositories.get(model)
    if (files === undefined) {
      response.writeHead(404).end('{"error":"Repository not found"}')
      return
    }
    const folders = new Set([...files.keys()].filter((path) => path.includes('/')).map(folderOf))
    const entries = [
      ...[...folders].map((path) => ({ type: 'directory', oid: '0'.repeat(40), size: 0, path })),
      ...[...files].map(([path, content]) => treeEntry(path, content)),
      ...(this.extraEntries.get(model) ?? []),
    ]
    const from = Number(url.searchParams.get('cursor') ?? 0)
    if (from + this.pageSize < entries.length) {
      url.searchParams.set('cursor', String(from + this.pageSize))
      response.setHeader('link', `<${url.href}>; rel="next"`)
    }
    response.setHeader('content-type', 'application/json')
    response.end(JSON.stringify(entries.slice(from, from + this.pageSize)))
  }

  #sendFile(model: string, path: string, request: IncomingMessage, response: ServerResponse): void {
    const content = this.repositories.get(model)?.get(path)
    if (content === undefined) {
      response.writeHead(404).end('Entry not found')
    } else if (content.length < LFS_BYTES_MIN) {
      response.setHeader('etag', `"${gitBlob(content)}"`)
      this.#sendBytes({ path, content }, request, response)
    } else {
      const location = `${this.#cdnUrl}/${model}/${path}?signature=good`
      response.setHeader('x-linked-etag', `"${sha256(content)}"`)
      response.setHeader('x-linked-size', content.length)
      response.writeHead(302, { location }).end()
    }
  }

  #sendBytes(
    { path, content }: { readonly path: string; readonly content: Buffer },
    { headers }: IncomingMessage,
    response: ServerResponse,
  ): void {
    if (this.#failEarly(path, response)) return
    const fault = this.#faults.get(path)?.shift()
    const asked = parseRange(headers.range)
    if (asked !== undefined && asked >= content.length) {
      response.writeHead(416, { 'content-range': `bytes */${content.length}` }).end()
      return
    }
    const from = rangeBegin(asked ?? 0, fault)
    const body = bodyFrom(content, from, fault)
    response.setHeader('content-length', body.length)
    if (asked !== undefined && fault?.kind !== 'no-range') {
      const range = `bytes ${from}-${content.length - 1}/${content.length}`
      response.writeHead(206, { 'content-range': range })
    }
    this.#sendBody(body, fault, response)
  }

  #sendBody(body: Buffer, fault: HubFault | undefined, response: ServerResponse): void {
    if (fault?.kind === 'cut' || fault?.kind === 'stall') {
      void this.#sendPart(body.subarray(0, fault.afterBytes), fault.kind, response)
    } else {
      response.end(body)
    }
  }

  async #sendPart(part: Buffer, end: 'cut' | 'stall', response: ServerResponse): Promise<void> {
    response.write(part)
    await this.onPartSent()
    if (end === 'cut') response.destroy()
  }

  /** True when the answer was given: faults that have nothing to do with a body. */
  #failEarly(path: string, response: ServerResponse): boolean {
    const faults = this.#faults.get(path) ?? []
    const [fault] = faults
    if (fault?.kind === 'redirect') {
      response.writeHead(302, { location: fault.location }).end()
    } else if (fault?.kind === 'status') {
      const headers = fault.retryAfter === undefined ? {} : { 'retry-after': fault.retryAfter }
      response.writeHead(fault.status, headers).end()
    } else {
      return false
    }
    faults.shift()
    return true
  }
}

function parseRange(header: string | undefined): number | undefined {
  const begin = /^bytes=(\d+)-$/.exec(header ?? '')?.[1]
  return begin === undefined ? undefined : Number(begin)
}

function bodyFrom(content: Buffer, from: number, fault: HubFault | undefined): Buffer {
  const body = Buffer.from(content.subarray(from))
  if (fault?.kind === 'wrong-bytes') body[body.length - 1] = (body.at(-1) ?? 0) ^ 1
  return body
}

function rangeBegin(asked: number, fault: HubFault | undefined): number {
  if (fault?.kind === 'no-range') return 0
  return fault?.kind === 'other-range' ? Math.max(0, asked - 1) : asked
}

function treeEntry(path: string, content: Buffer): object {
  const entry = { type: 'file', oid: gitBlob(content), size: content.length, path }
  if (content.length < LFS_BYTES_MIN) return entry
  const lfs = { oid: sha256(content), size: content.length, pointerSize: 130 }
  return { ...entry, oid: gitBlob(Buffer.from(`pointer to ${lfs.oid}`)), lfs }
}

function folderOf(path: string): string {
  return path.slice(0, path.lastIndexOf('/'))
}

function sha256(content: Buffer): string {
  return createHash('sha256').update(content).digest('hex')
}

function gitBlob(content: Buffer): string {
  return createHash('sha1').update(`blob ${content.length}\0`).update(content).digest('hex')
}

async function listen(server: Server): Promise<string> {
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return `http://127.0.0.1:${portOf(server)}`
}
