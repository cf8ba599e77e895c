// The server of `npm run bench -- peer`: a node of ours, or a bare node:net server.
//
//   node bench/peer/echo-server.ts quarry|bare

import { once } from 'node:events'
import net from 'node:net'
import { assert } from '../../lib/assert.ts'
import type { PeerHandler } from '../../node/peer/peer.ts'
import { COUNT, ECHO, openBenchNode } from './bench-node.ts'

const HANDLERS = new Map<number, PeerHandler>([
  [ECHO, { kind: 'call', handle: async ({ body }) => body }],
  [
    COUNT,
    {
      kind: 'upload',
      handle: async ({ parts }) => {
        let bytes = 0
        for await (const part of parts) bytes += part.length
        return Buffer.from(String(bytes))
      },
    },
  ],
])

process.once('SIGTERM', () => process.exit(0))
const port = process.argv[2] === 'quarry' ? await serveNode() : await serveBare()
process.stdout.write(`${JSON.stringify({ port })}\n`)

async function serveNode(): Promise<number> {
  const node = await openBenchNode('server', HANDLERS)
  return node.port
}

/** Sends everything back. Of an upload, the client reads nothing but the last byte. */
async function serveBare(): Promise<number> {
  const server = net.createServer({ noDelay: true }, (socket) => {
    socket.once('data', (first: Buffer) => {
      const isUpload = first[0] === COUNT
      if (!isUpload) socket.write(first)
      let bytes = first.length
      socket.on('data', (chunk: Buffer) => {
        bytes += chunk.length
        if (!isUpload) socket.write(chunk)
        else if (chunk[chunk.length - 1] === COUNT) socket.write(String(bytes))
      })
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  assert(address !== null && typeof address === 'object', 'the server listens on TCP')
  return address.port
}
