// A running API over a whole store on a simulated disk, and a client that sends exactly what it is told.

import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { request as httpRequest } from 'node:http'
import type { IncomingHttpHeaders, OutgoingHttpHeaders } from 'node:http'
import type { InvariantError } from '../../lib/assert.ts'
import { systemClock } from '../../lib/clock.ts'
import type { Log } from '../../lib/log.ts'
import { silentLog } from '../../lib/log.ts'
import { seededRandom } from '../../lib/random.ts'
import { ReloadedSettings } from '../../node/reloaded-settings.ts'
import { startApiServer } from '../../node/api/server/api-server.ts'
import type { ApiServerOptions } from '../../node/api/server/api-server.ts'
import type { ClusterService } from '../../node/steering/cluster-service.ts'
import type { StoreService } from '../../node/store/store-service.ts'
import { SwarmHarness } from '../support/servers/swarm-harness.ts'

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

type ApiOptions = Partial<Omit<ApiServerOptions, 'service' | 'cluster'>> & {
  readonly service?: Partial<StoreService>
  /** Replaces the cluster of one node. */
  readonly clusterOf?: (harness: SwarmHarness) => ClusterService
  readonly isSearched?: boolean
}

export interface Api extends AsyncDisposable {
  readonly url: string
  /** The same, by the name that a place gives it. */
  readonly api: string
  readonly service: StoreService
  readonly logged: readonly string[]
  readonly broken: readonly InvariantError[]
  send(sent: Sent): Promise<Received>
}

/** `service` replaces the methods it has; `isSearched` says whether tables have text indexes. */
export async function startApi({
  service = {},
  isSearched = false,
  clusterOf = ({ cluster }) => cluster,
  ...overrides
}: ApiOptions = {}): Promise<Api> {
  const indexRoot = isSearched ? await mkdtemp(path.join(tmpdir(), 'quarry-contract-')) : undefined
  const indexes = indexRoot === undefined ? {} : { indexRoot }
  const harness = await SwarmHarness.open({ clock: systemClock, ...indexes })
  const { store } = harness
  const logged: string[] = []
  const broken: InvariantError[] = []
  const log: Log = { ...silentLog, error: (message, fields) => logged.push(line(message, fields)) }
  const closeStore = async (): Promise<void> => {
    await harness.close()
    if (indexRoot !== undefined) await rm(indexRoot, { recursive: true })
  }
  const server = await startApiServer({
    host: '127.0.0.1',
    port: 0,
    log,
    random: seededRandom(1),
    settings: new ReloadedSettings({
      node: 'contract',
      clock: systemClock,
      log: { ...log, level: 'info' },
      levelOf: async () => 'info',
    }),
    onInvariantBroken: (error) => broken.push(error),
    ...overrides,
    cluster: clusterOf(harness),
    service: withOverrides(store, service),
  }).catch(async (error: unknown) => {
    await closeStore()
    throw error
  })
  return {
    url: server.url,
    api: server.url,
    service: store,
    logged,
    broken,
    send: (sent) => send(server.url, sent),
    async [Symbol.asyncDispose]() {
      await server.close()
      await closeStore()
    },
  }
}

/** What a write to a table answers for, in one line. */
export async function prepareBooks(api: Pick<Api, 'send'>): Promise<void> {
  await api.send({ method: 'POST', path: '/api/v1/tables/books', body: '{}' })
  const body =
    '{"inserts":{"book/1":{"title":"Sea charts","price":12},"big":{"n":9007199254740993}}}'
  await api.send({ method: 'POST', path: '/api/v1/tables/books/batch', body })
}

export function send(
  url: string,
  { method, path: target, body, headers = {} }: Sent,
): Promise<Received> {
  const { hostname, port } = new URL(url)
  return new Promise((resolve, reject) => {
    const type = body === undefined ? {} : { 'content-type': 'application/json' }
    const isChunked = headers['transfer-encoding'] !== undefined
    const length =
      body === undefined || isChunked ? {} : { 'content-length': Buffer.byteLength(body) }
    const request = httpRequest(
      {
        hostname,
        port,
        method,
        path: target,
        agent: false,
        headers: { ...type, ...length, ...headers },
      },
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

function withOverrides(store: StoreService, overrides: Partial<StoreService>): StoreService {
  return new Proxy<StoreService>(store, {
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
