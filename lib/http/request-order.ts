// One connection's requests, one after the other: a client that sends several without waiting
// (pipelining) finds in each what those before it have done.

import type { IncomingMessage, ServerResponse } from 'node:http'

/** Requests of one connection that wait for an answer before theirs. */
export const PIPELINED_REQUESTS_MAX = 1_000

export type Serve = (request: IncomingMessage, response: ServerResponse) => void

/**
 * Calls `serve` for a request when every request before it on the connection is answered. A connection
 * with more than PIPELINED_REQUESTS_MAX that wait is cut.
 */
export function inOrder(serve: Serve): Serve {
  const waiting = new WeakMap<object, number>()
  return (request, response) => {
    // node:http gives an answer its socket when the answers before it are out.
    if (response.socket !== null) return serve(request, response)
    const { socket } = request
    const count = (waiting.get(socket) ?? 0) + 1
    if (count > PIPELINED_REQUESTS_MAX) return void socket.destroy()
    waiting.set(socket, count)
    response.once('socket', () => {
      waiting.set(socket, (waiting.get(socket) ?? 1) - 1)
      serve(request, response)
    })
  }
}
