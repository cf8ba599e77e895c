// Queries for vectors at their limits.

import { expect } from 'chai'
import { countTo } from '../loads/load.ts'
import type { StoreClient } from '../servers/store-client.ts'

const TABLES = '/api/v1/tables'
const VECTORS = 10_000
const vectorOf = (n: number): readonly number[] => countTo(32).map((i) => Math.sin(n * i))

/** Ten thousand documents with a vector each. */
async function prepareVectors(client: StoreClient): Promise<void> {
  const near = { type: 'embeddings', external: true, dimension: 32 }
  const { status } = await client.send('POST', `${TABLES}/vectored`, { indexes: { near } })
  if (status === 409) return
  for (let at = 0; at < VECTORS; at += 1000) {
    const inserts = Object.fromEntries(
      countTo(1000).map((i) => {
        const n = at + i
        return [`k${n}`, { title: 'the sea', n, _embeddings: { near: vectorOf(n) } }]
      }),
    )
    const sync_level = at + 1000 === VECTORS ? 'full_index' : 'write'
    await client.batch('vectored', { inserts, sync_level })
  }
}

async function expectAnswer(client: StoreClient, body: object): Promise<void> {
  const { status, text } = await client.send('POST', `${TABLES}/vectored/query`, body)
  expect(status, text.slice(0, 500)).to.equal(200)
}

/** By what they ask for. */
export const VECTOR_QUERIES: Readonly<Record<string, (client: StoreClient) => Promise<void>>> = {
  'ten thousand hits of words and vectors, counted': async (client) => {
    await prepareVectors(client)
    const body = {
      full_text_search: { match: 'sea', field: 'title' },
      embeddings: { near: vectorOf(0) },
      aggregations: { n: { type: 'terms', field: 'n' } },
      pruner: { std_dev_threshold: 5 },
      limit: 10_000,
    }
    await expectAnswer(client, body)
  },
  'a body of numbers, the last of which has many digits': async (client) => {
    await prepareVectors(client)
    const body = `{"embeddings":{"near":[${'1,'.repeat(500_000)}0.12345678901234567]}}`
    const { status } = await client.send('POST', `${TABLES}/vectored/query`, body)
    expect(status).to.equal(400)
  },
  'sparse vectors of as many terms as there may be': async (client) => {
    await prepareVectors(client)
    const terms = Object.fromEntries(countTo(4096).map((n) => [10_000_000 + n * 7919, 1]))
    const embeddings = Object.fromEntries(countTo(16).map((n) => [`near${n}`, terms]))
    const { status } = await client.send('POST', `${TABLES}/vectored/query`, { embeddings })
    expect(status).to.equal(404)
  },
  'a filter that passes nothing, in a table without words': async (client) => {
    await prepareVectors(client)
    await client.send('DELETE', `${TABLES}/vectored/indexes/full_text_index_v0`)
    const body = {
      embeddings: { near: vectorOf(1) },
      filter_query: { term: 'x', field: 'title' },
    }
    await expectAnswer(client, body)
    const config = { type: 'full_text' }
    await client.send('POST', `${TABLES}/vectored/indexes/full_text_index_v0`, config)
  },
  'pictures of five hundred vectors': async (client) => {
    await prepareVectors(client)
    const body = {
      embeddings: { near: vectorOf(2) },
      fields: ['_embeddings'],
      analyses: { pca: true, tsne: true },
      limit: 500,
    }
    await expectAnswer(client, body)
  },
}
