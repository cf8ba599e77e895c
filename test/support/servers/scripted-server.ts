// An HTTP server whose answers a test writes, to check how a client handles them.

import { once } from 'node:events'
import { createServer } from 'node:http'
import type { IncomingHttpHeaders, Server, ServerResponse } from 'node:http'
import { text } from 'node:stream/consumers'
import { assert } from '../../../lib/assert.ts'

/** A request that the server received. */
export interface ReceivedRequest {
  readonly method: string
  readonly path: string
  readonly headers: IncomingHttpHeaders
  readonly body: string
}

/** Answers one request, or breaks the connection off. */
export type Scene = (response: ServerResponse) => void

/** Answers requests by the scenes of its test, in order. */
export class ScriptedServer implements AsyncDisposable {
  readonly url: string
  readonly received: readonly ReceivedRequest[]
  readonly #server: Server

  private constructor(server: Server, received: readonly ReceivedRequest[]) {
    const address = server.address()
    assert(address !== null && typeof address === 'object', 'the server listens on TCP')
    this.url = `http://127.0.0.1:${address.port}`
    this.received = received
    this.#server = server
  }

  /** One scene for each request, in their order; the last one for all that follow. */
  static async start(scenes: readonly Scene[]): Promise<ScriptedServer> {
    const received: ReceivedRequest[] = []
    const server = createServer(async (request, response) => {
      const { method = '', url: path = '', headers } = request
      const scene = scenes[Math.min(received.length, scenes.length - 1)]
      received.push({ method, path, headers, body: await text(request) })
      scene?.(response)
    })
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    return new ScriptedServer(server, received)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const closed = once(this.#server, 'close')
    this.#server.close()
    this.#server.closeAllConnections()
    await closed
  }
}

export function answering(
  status: number,
  body: unknown,
  headers: Readonly<Record<string, string>> = {},
): Scene {
  return (response) => {
    response.writeHead(status, { 'content-type': 'application/json', ...headers })
    response.end(typeof body === 'string' ? body : JSON.stringify(body))
  }
}

/** `beginning` leaves before the connection breaks off. */
export function breakingOff(beginning?: string): Scene {
  return (response) => {
    if (beginning === undefined) response.destroy()
    else response.write(beginning, () => response.destroy())
  }
}
