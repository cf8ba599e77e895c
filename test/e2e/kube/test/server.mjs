// What the self-test runs in its pods: names itself, keeps a value on its volume, resolves and calls its peers.
import { readFileSync, writeFileSync } from 'node:fs'
import { lookup } from 'node:dns/promises'
import { createServer } from 'node:http'
import { hostname } from 'node:os'

const file = '/data/value'
const answer = {
  '/': () => ({
    pod: hostname(),
    version: process.env.VERSION,
    node: process.env.NODE_NAME,
    runtime: process.version,
  }),
  '/healthz': () => ({ ok: true }),
  '/value': () => ({ pod: hostname(), value: readFileSync(file, 'utf8') }),
  '/put': (query) => (
    writeFileSync(file, query.get('value')),
    { pod: hostname(), written: query.get('value') }
  ),
  '/resolve': async (query) => ({
    name: query.get('name'),
    address: (await lookup(query.get('name'))).address,
  }),
  '/peer': async (query) => (await fetch(query.get('url'))).json(),
}
const server = createServer(async (request, response) => {
  const url = new URL(request.url, 'http://pod')
  try {
    const result = await answer[url.pathname](url.searchParams)
    response.end(JSON.stringify(result) + '\n')
  } catch (error) {
    response.statusCode = 500
    response.end(JSON.stringify({ error: String(error), cause: String(error.cause ?? '') }) + '\n')
  }
})
server.listen(8080, () =>
  process.stdout.write(`${hostname()} listens, version ${process.env.VERSION}\n`),
)
process.on('SIGTERM', () => server.close(() => process.exit(0)))
