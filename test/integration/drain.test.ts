// A server that stops in order: not ready at once, and open requests finish.

import { mkdtemp, rm } from 'node:fs/promises'
import { request as httpRequest, type ClientRequest } from 'node:http'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { expect } from 'chai'
import { parseInferenceConfig } from '../../inference/config.ts'
import { startInference } from '../../inference/main.ts'
import { parseNodeConfig } from '../../node/config.ts'
import { startNode } from '../../node/main.ts'
import { until } from '../support/until.ts'

interface Running {
  readonly apiUrl: string
  readonly healthUrl: string
  close(): Promise<void>
}

interface Server {
  readonly start: (folder: string) => Promise<Running>
  readonly path: string
  readonly body: string
  /** The status of its answer. */
  readonly status: number
}

const FREE = { host: '127.0.0.1', healthPort: '0', logLevel: 'error' }

const SERVERS: Readonly<Record<string, Server>> = {
  'the store': {
    start: (dataDir) => startNode(parseNodeConfig({}, { ...FREE, dataDir, apiPort: '0' })),
    path: '/api/v1/tables/books',
    body: '{"num_shards":1}',
    status: 201,
  },
  'the inference server': {
    start: (modelsDir) =>
      startInference(parseInferenceConfig({}, { ...FREE, modelsDir, port: '0' })),
    path: '/api/chunk',
    body: '{"text":"one two three"}',
    status: 200,
  },
}

describe('a server that stops', () => {
  let folder: string
  beforeEach(async () => {
    folder = await mkdtemp(path.join(tmpdir(), 'quarry-drain-'))
  })
  afterEach(() => rm(folder, { recursive: true }))

  for (const [name, { start, path: route, body, status }] of Object.entries(SERVERS)) {
    it(`is not ready while open requests finish: ${name}`, async () => {
      const server = await start(folder)
      const readiness = () => statusOf(`${server.healthUrl}/readyz`)
      await until(async () => (await readiness()) === 200)
      const request = begin(server.apiUrl + route, body)
      const answered = answerOf(request)
      // The server has taken the head of the request when it asks for the body.
      await new Promise((resolve) => request.once('continue', resolve))

      const closed = server.close()
      const whileOpen = await readiness()
      request.end(body.slice(1))

      expect(whileOpen).to.equal(503)
      expect(await answered).to.equal(status)
      await closed
    })
  }
})

/** Sends the head and the first byte of the body. */
function begin(url: string, body: string): ClientRequest {
  const headers = {
    'content-type': 'application/json',
    'content-length': body.length,
    expect: '100-continue',
  }
  const request = httpRequest(url, { method: 'POST', headers, agent: false })
  request.once('continue', () => request.write(body.slice(0, 1)))
  request.flushHeaders()
  return request
}

function answerOf(request: ClientRequest): Promise<number | undefined> {
  return new Promise((resolve, reject) => {
    request.once('error', reject)
    request.once('response', (response) => {
      response.resume()
      response.once('end', () => resolve(response.statusCode))
    })
  })
}

async function statusOf(url: string): Promise<number> {
  const { status } = await fetch(url, { headers: { connection: 'close' } })
  return status
}
