// A running API over the in-memory store, and a client that sends exactly what it is told.

import { request as httpRequest } from 'node:http'
import type { IncomingHttpHeaders, OutgoingHttpHeaders } from 'node:http'
import type { InvariantError } from '../../lib/assert.ts'
import { ManualClock } from '../../lib/clock.ts'
import type { Log } from '../../lib/log.ts'
import { silentLog } from '../../lib/log.ts'
import { seededRandom } from '../../lib/random.ts'
import { startApiServer } from '../../node/api/server.ts'
import type { ApiServerOptions } from '../../node/api/server.ts'
import type { StoreService } from '../../node/coordinator/store-service.ts'
import { MemoryStoreService } from '../support/fakes/memory-store-service.ts'

export interface Sent {
  readonly method: string
  readonly path: string
  readonly body?: string | Buffer
  readonly headers?: OutgoingHttpHeaders
}

export interface Received {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  readonly body: string
}

export interface Api extends AsyncDisposable {
  readonly url: string
  readonly service: MemoryStoreService
  readonly logged: readonly string[]
  readonly broken: readonly InvariantError[]
  send(sent: Sent): Promise<Received>
}

/** `overrides.service` replaces the methods it has. */
export async function startApi(
  overrides: Partial<Omit<ApiServerOptions, 'service'>> & {
    readonly service?: Partial<StoreService>
  } = {},
): Promise<Api> {
  const memory = new MemoryStoreService(new ManualClock())
  const logged: string[] = []
  const broken: InvariantError[] = []
  const log: Log = { ...silentLog, error: (message, fields) => logged.push(line(message, fields)) }
  const server = await startApiServer({
    host: '127.0.0.1',
    port: 0,
    log,
    random: seededRandom(1),
    onInvariantBroken: (error) => broken.push(error),
    ...overrides,
    service: withOverrides(memory, overrides.service ?? {}),
  })
  return {
    url: server.url,
    service: memory,
    logged,
    broken,
    send: (sent) => send(server.url, sent),
    [Symbol.asyncDispose]: () => server.close(),
  }
}

/** What a write to a table answers for, in one line. */
export async function prepareBooks(api: Api): Promise<void> {
  await api.send({ method: 'POST', path: '/api/v1/tables/books', body: '{}' })
  const body =
    '{"inserts":{"book/1":{"title":"Sea charts","price":12},"big":{"n":9007199254740993}}}'
  await api.send({ method: 'POST', path: '/api/v1/tables/books/batch', body })
}

export function send(url: string, { method, path, body, headers = {} }: Sent): Promise<Received> {
  const { hostname, port } = new URL(url)
  return new Promise((resolve, reject) => {
    const type = body === undefined ? {} : { 'content-type': 'application/json' }
    const isChunked = headers['transfer-encoding'] !== undefined
    const length =
      body === undefined || isChunked ? {} : { 'content-length': Buffer.byteLength(body) }
    const request = httpRequest(
      { hostname, port, method, path, agent: false, headers: { ...type, ...length, ...headers } },
      (response) => {
        const chunks: Buffer[] = []
        response.on('data', (chunk: Buffer) => chunks.push(chunk))
        response.on('error', reject)
        response.on('end', () => {
          const { statusCode: status = 0, headers: received } = response
          resolve({ status, headers: received, body: Buffer.concat(chunks).toString() })
        })
      },
    )
    request.on('error', reject)
    request.end(body)
  })
}

function withOverrides(memory: MemoryStoreService, overrides: Partial<StoreService>): StoreService {
  return new Proxy<StoreService>(memory, {
    get(target, name) {
      const replaced: unknown = Reflect.get(overrides, name)
      if (replaced !== undefined) return replaced
      const method: unknown = Reflect.get(target, name)
      return typeof method === 'function' ? method.bind(target) : method
    },
  })
}

function line(message: string, fields: Readonly<Record<string, unknown>> | undefined): string {
  return `${message} ${JSON.stringify(fields)}`
}
