// A small HTTP server that speaks the part of the contract that the command line uses, and that can
// be told to misbehave. Documents are kept as text, in one map per table.

import { createServer } from 'node:http'
import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import { text } from 'node:stream/consumers'
import { assert } from '../../lib/assert.ts'

export interface Answer {
  readonly status: number
  readonly body: string
  readonly headers?: Record<string, string>
}

export interface SeenRequest {
  readonly method: string
  readonly path: string
  readonly body: string
  readonly idempotencyKey: string | undefined
}

/** Decides instead of the double; undefined leaves the request to it. */
export type Intervention = (request: SeenRequest) => Answer | 'hang up' | 'no answer' | undefined

export class ServiceDouble implements AsyncDisposable {
  readonly tables = new Map<string, Map<string, string>>()
  readonly seen: SeenRequest[] = []
  intervene: Intervention = () => undefined
  readonly #server: Server

  private constructor(server: Server) {
    this.#server = server
  }

  static async open(): Promise<ServiceDouble> {
    const server = createServer()
    const double = new ServiceDouble(server)
    server.on('request', (request, response) => void double.#serve(request, response))
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    return double
  }

  get url(): string {
    const address = this.#server.address()
    assert(address !== null && typeof address === 'object', 'the server listens on a port')
    return `http://127.0.0.1:${address.port}`
  }

  table(name: string): Map<string, string> {
    return this.tables.get(name) ?? new Map()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections()
    await new Promise((resolve) => this.#server.close(resolve))
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const seen: SeenRequest = {
      method: request.method ?? '',
      path: (request.url ?? '').replace(/^\/api\/v1/, ''),
      body: await text(request),
      idempotencyKey: request.headers['idempotency-key']?.toString(),
    }
    this.seen.push(seen)
    const answer = this.intervene(seen) ?? this.#answer(seen)
    if (answer === 'no answer') return
    if (answer === 'hang up') return void request.socket.destroy()
    response.writeHead(answer.status, { 'content-type': 'application/json', ...answer.headers })
    response.end(answer.body)
  }

  #answer({ method, path, body }: SeenRequest): Answer {
    const [, first, name, verb, key] = path.split('?')[0]!.split('/').map(decodeURIComponent)
    if (first === 'status') return ok({ health: 'healthy', message: 'fine', tables: 0, shards: {} })
    if (name === undefined) return ok([...this.tables.keys()].map(tableAnswer))
    if (method === 'POST' && verb === undefined) return this.#create(name)
    const documents = this.tables.get(name)
    if (documents === undefined) return refusal(404, 'NOT_FOUND', `no table ${name}`)
    if (verb === 'batch') return batch(documents, body)
    if (verb === 'lookup') return key === undefined ? scan(documents) : lookup(documents, key)
    return method === 'DELETE' ? this.#drop(name) : ok(tableAnswer(name))
  }

  #drop(name: string): Answer {
    this.tables.delete(name)
    return { status: 204, body: '' }
  }

  #create(name: string): Answer {
    if (this.tables.has(name)) return refusal(409, 'ALREADY_EXISTS', `table ${name} already exists`)
    this.tables.set(name, new Map())
    return ok(tableAnswer(name))
  }
}

export function refusal(status: number, code: string, error: string): Answer {
  return { status, body: JSON.stringify({ error, code }) }
}

function ok(value: unknown): Answer {
  return { status: 200, body: JSON.stringify(value) }
}

function tableAnswer(name: string): object {
  return {
    name,
    indexes: {},
    shards: { '9f3c2a1700000001': { byte_range: ['', '/w=='] } },
    storage_status: { disk_usage: 40_960, empty: false },
  }
}

const INSERT = /^\{"inserts":\{(.*)\}\}$/s

/** Takes documents out of the body as text, one a member, so that every digit can be checked. */
function batch(documents: Map<string, string>, body: string): Answer {
  const request: { inserts?: object; deletes?: string[] } = JSON.parse(body)
  for (const key of request.deletes ?? []) documents.delete(key)
  const keys = Object.keys(request.inserts ?? {})
  let rest = INSERT.exec(body)?.[1] ?? ''
  for (const [at, key] of keys.entries()) {
    const head = `${JSON.stringify(key)}:`
    const next = keys[at + 1]
    const end = next === undefined ? rest.length : rest.indexOf(`,${JSON.stringify(next)}:`)
    documents.set(key, rest.slice(head.length, end))
    rest = rest.slice(end + 1)
  }
  const counts = { inserted: keys.length, deleted: request.deletes?.length ?? 0, transformed: 0 }
  return { status: 201, body: JSON.stringify(counts) }
}

function lookup(documents: Map<string, string>, key: string): Answer {
  const body = documents.get(key)
  if (body === undefined) return refusal(404, 'NOT_FOUND', `no document "${key}"`)
  return { status: 200, body, headers: { 'x-service-version': '114890530816000000' } }
}

function scan(documents: Map<string, string>): Answer {
  const lines = [...documents].toSorted(([a], [b]) => (a < b ? -1 : 1))
  const body = lines.map(([key, json]) => {
    const fields = json.slice(1, -1)
    return `{"key":${JSON.stringify(key)}${fields === '' ? '' : `,${fields}`}}\n`
  })
  return { status: 200, body: body.join(''), headers: { 'content-type': 'application/x-ndjson' } }
}
