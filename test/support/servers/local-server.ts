// Small HTTP servers on this machine, for tests that are their clients.

import { once } from 'node:events'
import { createServer } from 'node:http'
import type { RequestListener, Server } from 'node:http'

/** On a port that the system chooses. */
export async function listen(address: string, handle: RequestListener): Promise<Server> {
  const server = createServer(handle).listen(0, address)
  await once(server, 'listening')
  return server
}

export function portOf(server: Server): number {
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error('not listening on a port')
  return address.port
}

/** With the connections that clients still hold. */
export async function close(server: Server): Promise<void> {
  server.closeAllConnections()
  server.close()
  await once(server, 'close')
}
