// Vectors that the store makes behind writes that do not wait for them, and of documents that were there before.

import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { expect } from 'chai'
import { parseNodeConfig } from '../../node/config.ts'
import { startNode, type RunningNode } from '../../node/main.ts'
import { send } from '../contract/api-harness.ts'
import { ProviderServer } from '../support/servers/providers/provider-server.ts'
import { quarryDouble } from '../support/servers/providers/wire-doubles.ts'
import { until } from '../support/until.ts'

const COUNT = 300

function insertsOf(from: number, count: number): object {
  const numbers = Array.from({ length: count }, (_, at) => from + at)
  return Object.fromEntries(numbers.map((at) => [`k${at}`, { text: `text ${at}` }]))
}

describe('a managed index beside its enricher', () => {
  let dataDir: string
  let node: RunningNode
  let model: ProviderServer

  before(async () => {
    dataDir = await mkdtemp(path.join(tmpdir(), 'quarry-managed-'))
    model = await ProviderServer.start(quarryDouble)
    const hosts = { providerHosts: '127.0.0.1' }
    const flags = { ...hosts, dataDir, apiPort: '0', healthPort: '0', logLevel: 'error' }
    node = await startNode(parseNodeConfig({}, flags))
  })

  after(async () => {
    await node.close()
    await model[Symbol.asyncDispose]()
    await rm(dataDir, { recursive: true, force: true })
  })

  async function call(method: string, at: string, body?: unknown) {
    const answer = await send(node.apiUrl, {
      method,
      path: `/api/v1${at}`,
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    })
    return { status: answer.status, body: answer.body === '' ? undefined : JSON.parse(answer.body) }
  }

  const index = () => ({
    type: 'embeddings',
    field: 'text',
    engine: 'exact',
    embedder: { provider: 'quarry', model: 'm', url: model.url },
  })

  async function foundIn(table: string): Promise<number> {
    const query = { semantic_search: 'text', indexes: ['meaning'], limit: 1000 }
    const { body } = await call('POST', `/tables/${table}/query`, query)
    return body.responses?.[0]?.hits?.total ?? 0
  }

  function timesEmbedded(text: string): number {
    const texts = model.received.flatMap((request) => quarryDouble.textsOf(request))
    return texts.filter((one) => one === text).length
  }

  it('finds documents that were there before it, and those that come meanwhile', async () => {
    await call('POST', '/tables/old', { num_shards: 2 })
    await call('POST', '/tables/old/batch', { inserts: insertsOf(0, COUNT) })

    const created = await call('POST', '/tables/old/indexes/meaning', index())
    await call('POST', '/tables/old/batch', { inserts: insertsOf(COUNT, 50) })

    expect(created.status).to.equal(201)
    await until(async () => (await foundIn('old')) === COUNT + 50)
    expect(timesEmbedded('text 7')).to.equal(1)
  })

  it('embeds nothing again that a write has brought with its vector', async () => {
    await call('POST', '/tables/new', { indexes: { meaning: index() } })
    const inserts = { a: { text: 'waited for' } }
    await call('POST', '/tables/new/batch', { inserts, sync_level: 'full_index' })
    await call('POST', '/tables/new/batch', { inserts: { b: { text: 'not waited for' } } })

    await until(async () => (await foundIn('new')) === 2)

    expect(timesEmbedded('waited for')).to.equal(1)
    expect(timesEmbedded('not waited for')).to.equal(1)
  })

  it('finds a document by what it has become', async () => {
    await call('POST', '/tables/changed', { indexes: { meaning: index() } })
    await call('POST', '/tables/changed/batch', { inserts: insertsOf(1000, 3) })
    await until(async () => (await foundIn('changed')) === 3)

    await call('POST', '/tables/changed/batch', {
      inserts: { k1000: { text: 'x'.repeat(500) }, k1001: { other: 1 } },
    })

    await until(async () => (await foundIn('changed')) === 2)
    const far = { semantic_search: 'y'.repeat(500), indexes: ['meaning'], limit: 1 }
    await until(async () => {
      const { body } = await call('POST', '/tables/changed/query', far)
      const { _id: id } = body.responses[0].hits.hits[0]
      return id === 'k1000'
    })
  })
})
