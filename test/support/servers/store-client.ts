import { Agent, request as httpRequest } from 'node:http'
import type { IncomingHttpHeaders, OutgoingHttpHeaders } from 'node:http'

/** The connection broke before the whole answer was there: the outcome is unknown. */
export class ConnectionLost extends Error {}

export interface Answer {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  readonly text: string
}

export interface Looked {
  /** Undefined when there is no document. */
  readonly document: Readonly<Record<string, unknown>> | undefined
  /** 0 when there is no document. */
  readonly version: bigint
}

type Line = Readonly<Record<string, unknown>> & { readonly key: string }

/** Speaks to a running store. Connections are kept and shared by all who send at once. */
export class StoreClient implements Disposable {
  readonly #api: () => string
  readonly #agent = new Agent({ keepAlive: true })

  /** A function is asked for the URL of each request. */
  constructor(api: string | (() => string)) {
    this.#api = typeof api === 'string' ? () => api : api
  }

  get url(): string {
    return new URL(this.#api()).origin
  }

  /** Rejects with ConnectionLost unless the answer arrived whole. `path` is encoded already. */
  send(
    method: string,
    path: string,
    body?: unknown,
    headers: OutgoingHttpHeaders = {},
  ): Promise<Answer> {
    const sent = typeof body === 'string' || body === undefined ? body : JSON.stringify(body)
    const content =
      sent === undefined
        ? {}
        : { 'content-type': 'application/json', 'content-length': Buffer.byteLength(sent) }
    const { hostname, port } = new URL(this.#api())
    return new Promise((resolve, reject) => {
      const lost = (cause: Error): void => {
        reject(new ConnectionLost(`${method} ${path}: ${cause.message}`, { cause }))
      }
      const request = httpRequest(
        { hostname, port, method, path, agent: this.#agent, headers: { ...content, ...headers } },
        (response) => {
          const chunks: Buffer[] = []
          response.on('data', (chunk: Buffer) => chunks.push(chunk))
          response.on('error', lost)
          response.on('end', () => {
            const { statusCode: status = 0, headers: told } = response
            const answer = { status, headers: told, text: Buffer.concat(chunks).toString() }
            // The agent has the connection back by then. Who sends one request after another uses this one alone, and
            // never a second one that the server closes just then, because it was idle for too long.
            setImmediate(() => resolve(answer))
          })
        },
      )
      request.on('error', lost)
      request.end(sent)
    })
  }

  /** Like `send`, for requests that must succeed. */
  async succeed(
    method: string,
    path: string,
    body?: unknown,
    headers: OutgoingHttpHeaders = {},
  ): Promise<Answer> {
    const answer = await this.send(method, path, body, headers)
    if (answer.status < 300) return answer
    throw new Error(`${method} ${path} was answered ${answer.status} ${answer.text}`)
  }

  async createTable(table: string, request: unknown): Promise<void> {
    await this.succeed('POST', `/api/v1/tables/${table}`, request)
  }

  async batch(table: string, body: unknown, headers: OutgoingHttpHeaders = {}): Promise<void> {
    await this.succeed('POST', `/api/v1/tables/${table}/batch`, body, headers)
  }

  async lookup(table: string, key: string): Promise<Looked> {
    const path = `/api/v1/tables/${table}/lookup/${encodeURIComponent(key)}`
    const { status, headers, text } = await this.send('GET', path)
    if (status !== 200 && status !== 404) {
      throw new Error(`GET ${path} was answered ${status} ${text}`)
    }
    const version = headers['x-service-version']
    if (typeof version !== 'string') throw new Error(`GET ${path}: no version with ${text}`)
    return { document: status === 200 ? JSON.parse(text) : undefined, version: BigInt(version) }
  }

  async scan(table: string, body: unknown = {}): Promise<readonly Line[]> {
    const { text } = await this.succeed('POST', `/api/v1/tables/${table}/lookup`, body)
    const lines = text.split('\n').slice(0, -1)
    return lines.map((line): Line => JSON.parse(line))
  }

  [Symbol.dispose](): void {
    this.#agent.destroy()
  }
}
