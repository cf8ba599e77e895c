// HTTP requests over node:http. It needs a quarter of the CPU of fetch, which matters for a command
// that sends one request and ends.

import type { Agent, IncomingMessage, RequestOptions } from 'node:http'

// Loaded by name, because an import reads every export of the module, and some exports of node:http
// load all of fetch. That takes longer than the rest of a command.
const http = process.getBuiltinModule('node:http')

/** One request to the transport's server. */
export interface HttpRequest {
  readonly method: string
  /** The encoded path with its query. */
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string | Uint8Array | undefined
  readonly signal: AbortSignal
}

/** The connections to one server. Later requests use them again. */
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

  /** Resolves when the head of the answer has arrived. It never retries or follows a redirect. */
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
