// One request on a connection of its own: the client's port names it in a trace of the server.

import { Agent, request as httpRequest } from 'node:http'

/** One request on a connection of its own. */
export interface LoneRequest {
  readonly url: string
  readonly body: unknown
  readonly idempotencyKey?: string
  /** Called when there is a connection, before anything is sent. */
  readonly onPort: (port: number) => void
}

/** Resolves to the status, or to undefined when the connection broke before the answer was whole. */
export function sendAlone({ url, body, idempotencyKey, onPort }: LoneRequest) {
  const text = JSON.stringify(body)
  return new Promise<number | undefined>((resolve) => {
    const request = httpRequest(url, {
      method: 'POST',
      agent: new Agent({ keepAlive: false }),
      headers: {
        'content-type': 'application/json',
        'content-length': Buffer.byteLength(text),
        ...(idempotencyKey === undefined ? {} : { 'idempotency-key': idempotencyKey }),
      },
    })
    request.on('socket', (socket) => {
      socket.once('connect', () => {
        onPort(socket.localPort ?? 0)
        request.end(text)
      })
    })
    request.on('error', () => resolve(undefined))
    request.on('response', (response) => {
      response.resume()
      response.on('error', () => resolve(undefined))
      response.on('end', () => resolve(response.statusCode))
    })
  })
}
