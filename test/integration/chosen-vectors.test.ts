// Queries by meaning that name no index, over tables of which some index has nothing: over a field that no document
// has, without documents, or with vectors that clients send.

import { expect } from 'chai'
import { NodeWithModel } from '../support/servers/node-with-model.ts'

const BOOKS = {
  a: { title: 'sea charts', text: 'low water' },
  b: { title: 'tide tables', text: 'high water' },
}

describe('a query by meaning that names no index', () => {
  let node: NodeWithModel
  let tables = 0

  before(async () => {
    node = await NodeWithModel.start()
  })

  after(() => node[Symbol.asyncDispose]())

  const call: NodeWithModel['call'] = (method, at, body) => node.call(method, at, body)

  const over = (field: string): object => ({
    type: 'embeddings',
    field,
    embedder: { provider: 'openai', model: 'm', url: node.model.url },
  })
  const OWN = { type: 'embeddings', external: true, dimension: 4 }

  /** A table of two shards with these indexes and documents, whose vectors are made. */
  async function open(indexes: object, inserts: object = BOOKS): Promise<string> {
    const table = `books${tables++}`
    const created = await call('POST', `/tables/${table}`, { split_keys: ['b'], indexes })
    expect(created.status, JSON.stringify(created.body)).to.equal(201)
    const write = { inserts, sync_level: 'full_index' }
    if (Object.keys(inserts).length > 0) await call('POST', `/tables/${table}/batch`, write)
    return table
  }
  async function ask(table: string, query: object) {
    const { status, body } = await call('POST', `/tables/${table}/query`, query)
    return { status, body: body.responses?.[0] ?? body }
  }

  const QUERIES = {
    semantic_search: { semantic_search: 'water' },
    similar_to: { similar_to: { key: 'a' } },
  }

  for (const [member, query] of Object.entries(QUERIES)) {
    it(`asks the only index that has vectors, and says so (${member})`, async () => {
      const table = await open({ titled: over('titel'), meaning: over('title') })

      const { status, body } = await ask(table, query)

      expect(status, JSON.stringify(body)).to.equal(200)
      expect(body.hits.hits.length).to.be.above(0)
      expect(Object.keys(body.hits.hits[0]['_index_scores'])).to.deep.equal(['meaning'])
      expect(body.warnings.join()).to.match(
        /index "meaning" was asked, because "titled" has no vec/,
      )
    })
  }

  it('asks the index whose vectors the store makes, and not one of sent vectors', async () => {
    const table = await open({ own: OWN, meaning: over('title') })

    const { status, body } = await ask(table, QUERIES.semantic_search)

    expect([status, body.hits.hits.length, body.warnings]).to.deep.equal([200, 2, undefined])
  })

  it('is refused with the names when several indexes can answer', async () => {
    const table = await open({ empty: over('titel'), meaning: over('title'), texts: over('text') })

    const { status, body } = await ask(table, QUERIES.semantic_search)

    expect(status).to.equal(400)
    expect(body.error).to.match(/indexes: must name which .* uses: .*meaning, texts/)
  })

  it('is refused with the names when all indexes are empty', async () => {
    const table = await open({ meaning: over('title'), texts: over('text') }, {})

    const { status, body } = await ask(table, QUERIES.semantic_search)

    expect([status, body.error]).to.deep.equal([
      400,
      'indexes: must name which of the embeddings indexes semantic_search uses: meaning, texts',
    ])
  })

  it('says that the only index is empty, named or not, and beside words', async () => {
    const table = await open({ titled: over('titel') })
    const empty = /index "titled" has no vectors, so it finds nothing/

    const alone = await ask(table, QUERIES.semantic_search)
    const named = await ask(table, { ...QUERIES.semantic_search, indexes: ['titled'] })
    const beside = await ask(table, {
      ...QUERIES.semantic_search,
      full_text_search: { query: 'sea' },
    })

    expect([alone.status, alone.body.hits.hits]).to.deep.equal([200, []])
    for (const { body } of [alone, named, beside]) expect(body.warnings.join()).to.match(empty)
    expect(beside.body.hits.hits).to.have.length(1)
  })

  it('says nothing where an index has vectors and others decide that there are no hits', async () => {
    const table = await open({ meaning: over('title') })

    const far = await ask(table, { ...QUERIES.semantic_search, distance_under: -1 })

    expect([far.status, far.body.hits.hits, far.body.warnings]).to.deep.equal([200, [], undefined])
  })
})
