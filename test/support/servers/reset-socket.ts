import type { Socket } from 'node:net'

/**
 * Ends the connection at once, with a reset where that is possible. While the end of a socket is under way libuv
 * refuses to reset it, and Node then keeps the socket open for the life of the process, which cannot end any more
 * (seen in Node 24.21).
 */
export function resetSocket(socket: Socket): void {
  if (socket.writableEnded) socket.destroy()
  else socket.resetAndDestroy()
}
