// A provider that embeds by a double's protocol, and fails when a test says so.

import { once } from 'node:events'
import { createServer } from 'node:http'
import type { Server, ServerResponse } from 'node:http'
import { buffer } from 'node:stream/consumers'
import { resetSocket } from '../reset-socket.ts'
import { portOf } from '../local-server.ts'
import type { ReceivedRequest } from '../scripted-server.ts'
import type { WireDouble } from './wire-doubles.ts'

/** What happens to one request instead of a good answer. */
export type Fault =
  | { readonly kind: 'status'; readonly status: number; readonly retryAfter?: string }
  /** Answers an error that quotes all headers and the whole body of the request. */
  | { readonly kind: 'echo' }
  | { readonly kind: 'silent' }
  | { readonly kind: 'endless' }
  | { readonly kind: 'wrong-count' }
  | { readonly kind: 'wrong-dimension' }
  | { readonly kind: 'not-finite' }
  | { readonly kind: 'not-json' }
  | { readonly kind: 'reset-before' }
  | { readonly kind: 'reset-within' }
  | { readonly kind: 'redirect'; readonly to: string }

export const DIMENSION = 4

/** The vector of a text: its length, two of its characters, and one. */
export function doubleVector(text: string): number[] {
  return [text.length, text.charCodeAt(0) || 0, text.charCodeAt(text.length - 1) || 0, 1]
}

/** A provider on this machine. */
export class ProviderServer implements AsyncDisposable {
  readonly received: ReceivedRequest[] = []
  readonly #double: WireDouble
  readonly #server: Server
  readonly #faults: Fault[] = []
  /** Requests of which the client went away before their answer. */
  left = 0
  connections = 0

  private constructor(double: WireDouble, server: Server) {
    this.#double = double
    this.#server = server
  }

  static async start(double: WireDouble): Promise<ProviderServer> {
    const server = createServer()
    const provider = new ProviderServer(double, server)
    server.on('connection', () => (provider.connections += 1))
    server.on('request', async (request, response) => {
      const { method = '', url: path = '', headers } = request
      response.on('close', () => {
        if (!response.writableEnded) provider.left += 1
      })
      const body = (await buffer(request)).toString()
      provider.#answer({ method, path, headers, body }, response)
    })
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    return provider
  }

  get url(): string {
    return `http://127.0.0.1:${portOf(this.#server)}`
  }

  /** The next requests fail in this order; later ones are answered. */
  failNext(...faults: readonly Fault[]): void {
    this.#faults.push(...faults)
  }

  /** Closes the connections that clients keep. */
  closeKept(): void {
    this.#server.closeIdleConnections()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.close()
    this.#server.closeAllConnections()
    await once(this.#server, 'close')
  }

  #answer(request: ReceivedRequest, response: ServerResponse): void {
    this.received.push(request)
    const fault = this.#faults.shift()
    try {
      const texts = this.#double.textsOf(request)
      if (fault === undefined) {
        response.end(this.#double.answer(texts.map(doubleVector), request))
      } else this.#fail(fault, { request, response, vectors: texts.map(doubleVector) })
    } catch (error) {
      response.writeHead(400).end(JSON.stringify(this.#double.error(String(error))))
    }
  }

  #fail(fault: Fault, { request, response, vectors }: Failing): void {
    const change = CHANGES[fault.kind]
    if (change !== undefined) {
      response.end(this.#double.answer(change(vectors), request))
      return
    }
    const refuse = (status: number, message: string): void => {
      response.writeHead(status).end(JSON.stringify(this.#double.error(message)))
    }
    if (fault.kind === 'status') {
      if (fault.retryAfter !== undefined) response.setHeader('retry-after', fault.retryAfter)
      refuse(fault.status, 'as the test says')
    } else if (fault.kind === 'echo') refuse(401, `bad key ${JSON.stringify(request)}`)
    else breakOff(fault, response)
  }
}

type Vectors = readonly (readonly number[])[]

/** Faults that are in the numbers alone. */
const CHANGES: Partial<Record<Fault['kind'], (vectors: Vectors) => Vectors>> = {
  'wrong-count': (vectors) => [...vectors, ...vectors],
  'wrong-dimension': (vectors) => vectors.map((vector) => [...vector, 5]),
  'not-finite': (vectors) => vectors.map((vector) => vector.with(1, Number.NaN)),
}

/** Answers something that ends too early, never, or elsewhere. `silent` answers nothing. */
function breakOff(fault: Fault, response: ServerResponse): void {
  if (fault.kind === 'endless') flood(response)
  else if (fault.kind === 'not-json') response.end('{"data": [')
  else if (fault.kind === 'redirect') response.writeHead(307, { location: fault.to }).end()
  else if (fault.kind === 'reset-before') resetSocket(socketOf(response))
  else if (fault.kind === 'reset-within') {
    response.writeHead(200, { 'content-length': '1000' })
    response.write('{', () => resetSocket(socketOf(response)))
  }
}

interface Failing {
  readonly request: ReceivedRequest
  readonly response: ServerResponse
  readonly vectors: Vectors
}

function socketOf({ socket }: ServerResponse): NonNullable<ServerResponse['socket']> {
  if (socket === null) throw new Error('the connection is gone')
  return socket
}

/** Writes until the client goes away. */
function flood(response: ServerResponse): void {
  const piece = Buffer.alloc(64 * 1024, ' ')
  const more = (): void => {
    while (!response.destroyed && response.write(piece));
  }
  response.on('drain', more)
  more()
}
