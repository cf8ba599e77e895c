// Ports for servers that must know their port before they start.

import { once } from 'node:events'
import net from 'node:net'

/**
 * Below the ports that kernels give to clients and to servers on port 0 (32768 and more). A port of those may be
 * taken between this check and the start of the server, and while the server is stopped.
 */
const PORTS = '18000-31999'
/** Tests in several processes at once have a part of the ports each: QUARRY_TEST_PORTS, as `first-last`. */
const [FIRST = NaN, LAST = NaN] = (process.env['QUARRY_TEST_PORTS'] ?? PORTS).split('-').map(Number)

/** So many different ports of 127.0.0.1 on which nobody listens now. */
export async function freePorts(count: number): Promise<readonly number[]> {
  const held: net.Server[] = []
  try {
    while (held.length < count) {
      const server = await listenAt(FIRST + Math.floor(Math.random() * (LAST - FIRST + 1)))
      if (server !== undefined) held.push(server)
    }
    return held.map(portOf)
  } finally {
    await Promise.all(held.map(closed))
  }
}

/** As `freePorts`, one after the other. */
export async function freePortsInARow(count: number): Promise<readonly number[]> {
  for (;;) {
    const [first = 0] = await freePorts(1)
    const row = Array.from({ length: count }, (_, at) => first + at)
    const servers = await Promise.all(row.map(listenAt))
    const held = servers.filter((server) => server !== undefined)
    await Promise.all(held.map(closed))
    if (held.length === count) return row
  }
}

/** Undefined if somebody else has the port. */
export async function listenAt(port: number): Promise<net.Server | undefined> {
  const server = net.createServer()
  try {
    server.listen(port, '127.0.0.1')
    await once(server, 'listening')
    return server
  } catch {
    return undefined
  }
}

function portOf(server: net.Server): number {
  const address = server.address()
  return typeof address === 'object' && address !== null ? address.port : 0
}

async function closed(server: net.Server): Promise<void> {
  server.close()
  await once(server, 'close')
}
