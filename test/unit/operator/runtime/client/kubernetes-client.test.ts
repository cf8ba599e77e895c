import { createServer } from 'node:http'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { once } from 'node:events'
import { KubeConfig } from '@kubernetes/client-node'
import { expect } from 'chai'
import { ManualClock } from '../../../../../lib/clock.ts'
import { classifyError } from '../../../../../operator/runtime/api/api-error.ts'
import { REQUEST_TIMEOUT_MS } from '../../../../../operator/runtime/client/api-connection.ts'
import { KubernetesClient } from '../../../../../operator/runtime/client/kubernetes-client.ts'
import { errorOf } from '../../../../support/error-of.ts'
import { CONFIG_MAPS, LEASES } from '../../../../support/kubernetes/known-kinds.ts'

const { signal } = new AbortController()
const METADATA = { name: 'a', namespace: 'test', uid: 'u', resourceVersion: '7' }
const REF = { kind: CONFIG_MAPS, namespace: 'test', name: 'a' }
const WATCH = {
  kind: CONFIG_MAPS,
  namespace: '',
  labelSelector: 'a=b,c=d',
  resourceVersion: '5',
  timeoutSeconds: 30,
}

type Answer = (request: IncomingMessage, response: ServerResponse) => void

describe('KubernetesClient', () => {
  it('uses its connections again', async () => {
    await using world = await open((_request, response) =>
      send(response, 200, { metadata: METADATA }),
    )

    for (let at = 0; at < 20; at++) await world.api.get(REF, signal)

    expect(world.connections()).to.be.at.most(2)
    expect(Object.fromEntries(world.api.connection.answers)).to.deep.equal({ 'GET 200': 20 })
  })

  it('says what each request is: path, selection, field manager, content type', async () => {
    const seen: string[] = []
    await using world = await open((request, response) => {
      seen.push(`${request.method} ${request.url} ${request.headers['content-type'] ?? ''}`)
      send(response, 200, { metadata: METADATA, items: [] })
    })
    const { api } = world
    const object = { apiVersion: 'v1', kind: 'ConfigMap', metadata: METADATA }

    await api.list({ ...WATCH, namespace: 'test' }, { limit: 2, continueToken: 'x y' }, signal)
    await api.create(LEASES, object, signal)
    await api.replace(LEASES, object, signal)
    await api.apply({ kind: CONFIG_MAPS, object, force: true }, signal)
    await api.patch({ ref: REF, patch: { type: 'json', steps: [] }, part: 'object' }, signal)
    await api.patch({ ref: REF, patch: { type: 'merge', value: {} }, part: 'status' }, signal)
    await api.delete({ ref: REF, ...METADATA, propagation: 'Orphan' }, signal)

    const leases = '/apis/coordination.k8s.io/v1/namespaces/test/leases'
    const one = '/api/v1/namespaces/test/configmaps/a'
    expect(seen).to.deep.equal([
      'GET /api/v1/namespaces/test/configmaps?labelSelector=a%3Db%2Cc%3Dd&limit=2&continue=x+y ',
      `POST ${leases}?fieldManager=quarry-operator application/json`,
      `PUT ${leases}/a?fieldManager=quarry-operator application/json`,
      `PATCH ${one}?fieldManager=quarry-operator&force=true application/apply-patch+yaml`,
      `PATCH ${one}?fieldManager=quarry-operator application/json-patch+json`,
      `PATCH ${one}/status?fieldManager=quarry-operator application/merge-patch+json`,
      `DELETE ${one} application/json`,
    ])
  })

  it('has reason and Retry-After of a refusal', async () => {
    await using world = await open((_request, response) =>
      send(response, 429, { reason: 'TooManyRequests', message: 'slow' }, { 'Retry-After': '3' }),
    )

    const error = await errorOf(() => world.api.get(REF, signal))

    expect(error).to.include({ status: 429, reason: 'TooManyRequests', retryAfterMs: 3000 })
  })

  it('tells another UID as the conflict that it is, and other invalid fields as what they are', async () => {
    const fields = ['metadata.uid', 'spec.selector']
    const reasons = fields.map((field) => ({ reason: 'FieldValueInvalid', field, message: 'm' }))
    const bodies = reasons.map((cause) => ({ reason: 'Invalid', details: { causes: [cause] } }))
    const answers = [...bodies, ...bodies]
    await using world = await open((_request, response) => send(response, 422, answers.shift()))
    const object = { apiVersion: 'v1', kind: 'ConfigMap', metadata: METADATA }
    const apply = () => world.api.apply({ kind: CONFIG_MAPS, object, force: true }, signal)
    const merge = { type: 'merge', value: { metadata: METADATA } } as const
    const patch = () => world.api.patch({ ref: REF, patch: merge, part: 'object' }, signal)
    const errors: unknown[] = []

    for (const write of [apply, apply, patch, patch]) errors.push(await errorOf(write))

    expect(errors.map(classifyError)).to.deep.equal(['conflict', 'invalid', 'conflict', 'invalid'])
  })

  it('ends a request that is not answered', async () => {
    const clock = new ManualClock()
    await using world = await open(() => clock.advance(REQUEST_TIMEOUT_MS), clock)

    const error = await errorOf(() => world.api.get(REF, signal))

    expect(error).to.include({ name: 'ApiError', status: 0 })
  })

  it('takes something other than an object for no answer', async () => {
    await using world = await open((_request, response) => void response.end('<html>'))

    expect(await errorOf(() => world.api.get(REF, signal))).to.include({ status: 0 })
  })

  it('reads events of a watch that come in pieces, and asks for bookmarks', async () => {
    const text = JSON.stringify({ type: 'ADDED', object: { metadata: METADATA, data: { a: 'ä' } } })
    const bookmark = { type: 'BOOKMARK', object: { metadata: { resourceVersion: '9' } } }
    const bytes = Buffer.from(`${text}\n${JSON.stringify(bookmark)}\n`)
    const urls: (string | undefined)[] = []
    await using world = await open((request, response) => {
      urls.push(request.url)
      for (const byte of bytes) response.write(Buffer.of(byte))
      response.end()
    })

    const events = await Array.fromAsync(world.api.watch(WATCH, signal))

    expect(events).to.deep.equal([
      {
        type: 'added',
        object: { apiVersion: 'v1', kind: 'ConfigMap', metadata: METADATA, data: { a: 'ä' } },
      },
      { type: 'bookmark', resourceVersion: '9' },
    ])
    expect(urls[0]).to.match(/^\/api\/v1\/configmaps\?.*watch=true&allowWatchBookmarks=true&/)
  })

  it('refuses a watch whose history is gone, in the stream too', async () => {
    const object = { kind: 'Status', code: 410, reason: 'Expired', message: 'too old' }
    await using world = await open((_request, response) =>
      send(response, 200, { type: 'ERROR', object }),
    )

    const error = await errorOf(() => Array.fromAsync(world.api.watch(WATCH, signal)))

    expect(error).to.include({ status: 410, reason: 'Expired' })
  })

  it('ends a watch with a line that is not an event as one without an answer', async () => {
    await using world = await open((_request, response) => send(response, 200, { type: 'NEW' }))

    const error = await errorOf(() => Array.fromAsync(world.api.watch(WATCH, signal)))

    expect(error).to.include({ name: 'ApiError', status: 0 })
  })
})

async function open(answer: Answer, clock = new ManualClock()) {
  let connections = 0
  const server = createServer(answer).listen(0, '127.0.0.1')
  server.on('connection', () => {
    connections += 1
  })
  await once(server, 'listening')
  const address = server.address()
  const port = typeof address === 'object' ? address?.port : undefined
  const config = new KubeConfig()
  config.loadFromClusterAndUser(
    { name: 'test', server: `http://127.0.0.1:${port}`, skipTLSVerify: true },
    { name: 'test' },
  )
  const api = new KubernetesClient(config, clock)
  return {
    api,
    connections: () => connections,
    async [Symbol.asyncDispose]() {
      await api[Symbol.asyncDispose]()
      server.closeAllConnections()
      server.close()
    },
  }
}

function send(response: ServerResponse, status: number, body: unknown, headers = {}): void {
  response.writeHead(status, { 'Content-Type': 'application/json', ...headers })
  response.end(`${JSON.stringify(body)}\n`)
}
