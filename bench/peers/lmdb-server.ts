// The peer of single writes and lookups: as little server as can be, over LMDB. GET of a key answers
// the bytes that are stored under it; POST stores the body as it is, unread, and answers when it is
// flushed to disk.
//
//   node bench/peers/lmdb-server.ts <directory> <documents to begin with> <seed>

import { once } from 'node:events'
import { createServer } from 'node:http'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { open } from 'lmdb'
import { assert, must } from '../../lib/assert.ts'
import { buildDocumentSource, documentKey } from '../data/document-source.ts'

const DONE = Buffer.from('{}')

const [, , directory, documents, seed] = process.argv
const db = open<Buffer, string>({
  path: must(directory, 'directory'),
  encoding: 'binary',
  // With overlapping syncs `db.flushed` may already mean a later, still empty transaction, and then
  // answers too early. Without them a put resolves after LMDB's commit, which is on disk; measured,
  // that costs the peer nothing.
  overlappingSync: false,
})

const source = buildDocumentSource('kilobyte', Number(seed))
for (let index = 0; index < Number(documents); index += 1) {
  void db.put(documentKey(index), Buffer.from(source.documentAt(index), 'latin1'))
}
await db.committed

const server = createServer({ noDelay: true }, (request, response) => {
  const key = must(request.url, 'path').slice(1)
  if (request.method === 'GET') get(key, response)
  else put(key, request, response)
})
server.listen(0, '127.0.0.1')
await once(server, 'listening')
const address = server.address()
assert(address !== null && typeof address === 'object', 'the server listens on TCP')
process.stdout.write(`${JSON.stringify({ api: `http://127.0.0.1:${address.port}` })}\n`)

await once(process, 'SIGTERM')
server.closeAllConnections()
server.close()
await db.close()

function get(key: string, response: ServerResponse): void {
  const value = db.getBinary(key)
  if (value === undefined) response.writeHead(404, ['Content-Length', '0']).end()
  else answer(response, 200, value)
}

function put(key: string, request: IncomingMessage, response: ServerResponse): void {
  const chunks: Buffer[] = []
  request.on('data', (chunk: Buffer) => chunks.push(chunk))
  request.on('end', () => {
    void store(
      key,
      chunks.length === 1 ? must(chunks[0], 'chunk') : Buffer.concat(chunks),
      response,
    )
  })
}

async function store(key: string, value: Buffer, response: ServerResponse): Promise<void> {
  await db.put(key, value)
  answer(response, 201, DONE)
}

function answer(response: ServerResponse, status: number, body: Buffer): void {
  const headers = ['Content-Type', 'application/json', 'Content-Length', String(body.length)]
  response.writeHead(status, headers)
  response.end(body)
}
