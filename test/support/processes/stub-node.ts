// A program with the command line of a node, for tests of the launcher. It waits for etcd, serves its
// API with 200, and ends in order on SIGTERM. What it is told to do otherwise lies in its environment:
//   STUB_FAILS=node-2    that node ends before it is ready
//   STUB_HANGS=node-1    that node never gets ready
// A request for /crash ends it at once.

import { once } from 'node:events'
import { readFileSync, statSync } from 'node:fs'
import { createServer } from 'node:http'
import path from 'node:path'
import { parseArgs } from 'node:util'

const text = { type: 'string' } as const
const { values } = parseArgs({
  options: {
    'data-dir': text,
    cluster: text,
    etcd: text,
    'cluster-secret-file': text,
    'api-port': text,
    'health-port': text,
    'peer-port': text,
  },
})
const name = path.basename(values['data-dir'] ?? '')

function log(msg: string, fields: object = {}): void {
  process.stderr.write(`${JSON.stringify({ level: 'info', pid: process.pid, msg, ...fields })}\n`)
}

async function listen(port: string | undefined): Promise<string> {
  const server = createServer((request, response) => {
    if (request.url === '/crash') process.kill(process.pid, 'SIGKILL')
    response.end('ok')
  })
  server.listen(Number(port), '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  return `http://127.0.0.1:${typeof address === 'object' ? address?.port : ''}`
}

process.once('SIGTERM', () => {
  log('server stopped')
  process.exit(0)
})
if (process.env['STUB_FAILS'] === name) {
  process.stderr.write('the disk is gone\n')
  process.exit(78)
}
log('server starts', { name })
if (process.env['STUB_HANGS'] === name) setInterval(() => undefined, 60_000)
else await serve()

async function serve(): Promise<void> {
  const secretFile = values['cluster-secret-file'] ?? ''
  const { status } = await fetch(`${values.etcd}/health`)
  const places = {
    api: await listen(values['api-port']),
    health: await listen(values['health-port']),
  }
  log('server serves', {
    etcd: status,
    cluster: values.cluster,
    secretMode: (statSync(secretFile).mode & 0o777).toString(8),
    secretBytes: readFileSync(secretFile).length,
    inference: process.env['QUARRY_INFERENCE_URL'],
  })
  process.stdout.write(`${JSON.stringify({ event: 'ready', ...places })}\n`)
}
