// Vectors that the store makes in the background, over HTTP: of what was there, of what is written, around failures.

import { expect } from 'chai'
import { countTo } from '../support/loads/load.ts'
import { NodeWithModel } from '../support/servers/node-with-model.ts'
import { until } from '../support/until.ts'

const COUNT = 300

describe('vectors that the store makes', () => {
  let node: NodeWithModel

  beforeEach(async () => {
    node = await NodeWithModel.start()
    await call('POST', '/tables/notes', {})
  })

  afterEach(() => node[Symbol.asyncDispose]())

  const call: NodeWithModel['call'] = (method, at, body) => node.call(method, at, body)

  async function createIndex(): Promise<void> {
    const embedder = { provider: 'openai', model: 'm', url: node.model.url, api_key: 'sk-plain' }
    const config = { type: 'embeddings', field: 'text', dimension: 4, embedder }
    expect(await call('POST', '/tables/notes/indexes/meaning', config)).to.include({ status: 201 })
  }

  const insert = (texts: Readonly<Record<string, unknown>>) =>
    call('POST', '/tables/notes/batch', {
      inserts: Object.fromEntries(Object.entries(texts).map(([key, text]) => [key, { text }])),
    })
  const index = async (query = '') =>
    (await call('GET', `/tables/notes/indexes/meaning${query}`)).body

  it('come to documents that were there, and to those that are written', async () => {
    const texts = Object.fromEntries(countTo(COUNT).map((n) => [`k${n}`, `text ${n}`]))
    await insert(texts)

    await createIndex()
    await insert({ later: 'another text' })

    await until(async () => (await index()).status.total_indexed === COUNT + 1)
    // The walk through the table ends a moment after its last vector is found.
    await until(async () => (await index()).status.rebuilding === false)
    const { status, shard_status: shards } = await index()
    expect(status).to.include({ error: '', total_indexed: COUNT + 1, backfill_progress: 1 })
    expect(status.enrichment).to.include({ parked: 0, progress: 1, error: '' })
    expect(Object.values(shards)).to.have.nested.property('[0].enrichment.enriched', COUNT + 1)
  })

  it('are none of a field that no document has, which the status of the index tells', async () => {
    await createIndex()
    await until(async () => (await index()).status.rebuilding === false)
    const empty = await index()
    await call('POST', '/tables/notes/batch', { inserts: { a: { title: 'no text' } } })
    await until(async () => (await index()).status.warnings !== undefined)
    const missed = await index()
    await insert({ b: 'a text' })
    await until(async () => (await index()).status.total_indexed === 1)
    const found = await index()

    expect(empty.status).to.not.have.property('warnings')
    expect(missed.status.warnings).to.deep.equal([
      'no document of table "notes" has anything to embed in field "text", so the index is empty',
    ])
    expect(found.status).to.not.have.property('warnings')
  })

  it('are still made after a restart, once, and what failed is listed with its reason', async () => {
    await createIndex()
    await insert({ good: 'fine', odd: 7 })
    await until(async () => (await index()).status.enrichment.parked === 1)
    await until(async () => (await index()).status.total_indexed === 1)

    await node.restartAfter(async () => undefined)
    await insert({ next: 'one more' })

    await until(async () => (await index()).status.total_indexed === 2)
    const { parked_documents: parked, status } = await index('?parked=5')
    expect(parked).to.have.length(1)
    expect(parked[0]).to.include({ _id: 'odd', attempts: 1 })
    expect(status.enrichment).to.include({ enriched: 1, parked: 1 })
  })

  it('are waited for while the model is away, which the status tells', async () => {
    await createIndex()
    node.model.failNext(...countTo(6).map(() => ({ kind: 'status', status: 500 }) as const))
    await insert({ a: 'first' })

    await until(async () => (await index()).status.error !== '')
    const { error } = (await index()).status
    const { body: health } = await call('GET', '/status')

    await until(async () => (await index()).status.total_indexed === 1)
    expect(error).to.match(/^the model gives no good answer since 20.*openai m/)
    expect(health.message).to.match(
      /index "meaning" of table "notes" gets no vectors on 1 of 1 shards/,
    )
    expect((await index()).status.error).to.equal('')
  })
})
