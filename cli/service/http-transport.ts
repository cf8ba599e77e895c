// One HTTP request over node:http, which connects and parses for a quarter of the CPU of fetch: that
// counts for a command that asks once and ends.

import type { Agent, IncomingMessage, RequestOptions } from 'node:http'

// Asked for by name: an import looks at every export of the module, and some of node:http load all
// of fetch, which takes longer than everything else that a command does.
const http = process.getBuiltinModule('node:http')

export interface HttpRequest {
  readonly method: string
  /** Encoded, with its query. */
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string | Uint8Array | undefined
  readonly signal: AbortSignal
}

/** Connections to one server, which are kept for the requests that follow. */
export class HttpTransport {
  readonly #url: URL
  readonly #module: Pick<typeof http, 'request'>
  readonly #agent: Agent

  constructor(url: URL) {
    this.#url = url
    const https = url.protocol === 'https:' ? process.getBuiltinModule('node:https') : undefined
    this.#module = https ?? http
    this.#agent = new (https ?? http).Agent({ keepAlive: true })
  }

  /** Resolves when the answer's head is there. Nothing is retried, and no redirect followed. */
  send({ method, path, headers, body, signal }: HttpRequest): Promise<IncomingMessage> {
    const length = body === undefined ? {} : { 'content-length': Buffer.byteLength(body) }
    const options: RequestOptions = {
      method,
      path,
      headers: { ...headers, ...length },
      agent: this.#agent,
      signal,
    }
    return new Promise((resolve, reject) => {
      const request = this.#module.request(this.#url, options, resolve)
      request.once('error', reject)
      request.end(body)
    })
  }
}
