// Vectors that clients write, over HTTP and across the death of the process.

import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { expect } from 'chai'
import { countTo } from '../support/loads/load.ts'
import { StoreProcess } from '../support/processes/store-process.ts'
import { StoreClient } from '../support/servers/store-client.ts'
import { until } from '../support/until.ts'

const TABLE = '/api/v1/tables/books'
const VEC = { type: 'embeddings', external: true, dimension: 3, distance_metric: 'cosine' }
const base64 = (...numbers: number[]): string =>
  Buffer.from(Float32Array.from(numbers).buffer).toString('base64')

const vectorOf = (n: number): number[] => [n + 1, (n * 7) % 11, 1]

async function indexed(client: StoreClient, index = 'vec'): Promise<number> {
  const { text } = await client.succeed('GET', `${TABLE}/indexes/${index}`)
  const { status } = JSON.parse(text)
  expect(status.error).to.equal('')
  return status.rebuilding === true ? -1 : status.total_indexed
}

async function found(client: StoreClient, key: string, fields: string): Promise<unknown> {
  const { text } = await client.succeed('GET', `${TABLE}/lookup/${key}?fields=${fields}`)
  return JSON.parse(text)
}

async function refusal(client: StoreClient, inserts: unknown): Promise<string> {
  const { status, text } = await client.send('POST', `${TABLE}/batch`, { inserts })
  expect(status, text).to.equal(400)
  return JSON.parse(text).error
}

describe('vectors that clients write', () => {
  let folder: string
  beforeEach(async () => {
    folder = await mkdtemp(path.join(tmpdir(), 'quarry-vectors-'))
  })
  afterEach(() => rm(folder, { recursive: true }))

  it('are kept beside their documents, and answered to those who name them', async () => {
    await using store = await StoreProcess.start({ dataDir: folder })
    using client = new StoreClient(store.api)
    await client.createTable('books', { num_shards: 2, indexes: { vec: VEC } })

    await client.batch('books', {
      inserts: {
        a: { title: 'Sea charts', _embeddings: { vec: [0.5, 0, 1] } },
        z: { _embeddings: { vec: base64(1, 2, 3) }, title: 'Tides' },
      },
    })
    const { document, version } = await client.lookup('books', 'a')
    await client.batch('books', { inserts: { a: { _embeddings: { vec: [3, 2, 1] } } } })

    const after = await client.lookup('books', 'a')
    expect(document).to.deep.equal({ title: 'Sea charts' })
    expect(after).to.deep.equal({ document, version })
    expect(await found(client, 'a', '_embeddings')).to.deep.equal({
      _embeddings: { vec: [3, 2, 1] },
    })
    expect(await found(client, 'z', 'title,_embeddings.vec')).to.deep.equal({
      title: 'Tides',
      _embeddings: { vec: [1, 2, 3] },
    })
    expect(await found(client, 'z', 'title,_embeddings.other')).to.deep.equal({ title: 'Tides' })
    expect(await found(client, 'z', '_embeddings.*,-_embeddings.vec')).to.deep.equal({
      _embeddings: {},
    })
    expect(await client.scan('books', { fields: ['_embeddings'] })).to.deep.equal([
      { key: 'a', _embeddings: { vec: [3, 2, 1] } },
      { key: 'z', _embeddings: { vec: [1, 2, 3] } },
    ])
    expect(await client.scan('books', { fields: ['title'] })).to.deep.equal([
      { key: 'a', title: 'Sea charts' },
      { key: 'z', title: 'Tides' },
    ])
    const query = { full_text_search: { query: 'title:charts' }, fields: ['title', '_embeddings'] }
    await client.succeed('POST', `${TABLE}/batch`, {
      transforms: [{ key: 'a', operations: [{ op: '$set', path: 'n', value: 1 }] }],
      sync_level: 'full_index',
    })
    const { text } = await client.succeed('POST', `${TABLE}/query`, query)
    expect(JSON.parse(text))
      .to.have.nested.property('responses[0].hits.hits[0]._source')
      .that.deep.equals({
        title: 'Sea charts',
        _embeddings: { vec: [3, 2, 1] },
      })
    expect(text.split('"_embeddings"'), 'named once').to.have.length(2)
    await until(async () => (await indexed(client)) === 2)
    await client.batch('books', { inserts: { a: { _embeddings: { vec: null } } }, deletes: ['z'] })
    await until(async () => (await indexed(client)) === 0)
    expect(await found(client, 'a', '_embeddings,title')).to.deep.equal({ title: 'Sea charts' })
  }).timeout(240_000)

  it('are written by transactions over shards and by merges', async () => {
    await using store = await StoreProcess.start({ dataDir: folder })
    using client = new StoreClient(store.api)
    await client.createTable('books', { split_keys: ['m'], indexes: { vec: VEC } })
    const inserts = {
      a: { n: 1, _embeddings: { vec: [1, 0, 0] } },
      z: { n: 2, _embeddings: { vec: [0, 1, 0] } },
    }

    const committed = { read_set: [{ table: 'books', key: 'a', version: '0' }] }
    await client.succeed('POST', '/api/v1/transactions/commit', {
      ...committed,
      tables: { books: { inserts } },
    })
    const records = {
      a: { n: 1, _embeddings: { vec: [1, 0, 0] } },
      b: { n: 3, _embeddings: { vec: [1, 1, 1] } },
      c: { _embeddings: { vec: [1, 1, 1] } },
      y: { n: 4, _embeddings: { vec: [1, 1] } },
      z: { n: 2, _embeddings: { vec: [0, 2, 0] } },
    }
    const { text } = await client.succeed('POST', `${TABLE}/merge`, { records })

    const { failed, ...counts } = JSON.parse(text)
    expect(counts).to.include({ upserted: 2, skipped: 1, deleted: 0 })
    expect(failed.map(({ id }: { id: string }) => id)).to.deep.equal(['c', 'y'])
    expect(await client.scan('books', { fields: ['n', '_embeddings'] })).to.deep.equal([
      { key: 'a', ...inserts.a },
      { key: 'b', ...records.b },
      { key: 'z', ...records.z },
    ])
    const again = await client.succeed('POST', `${TABLE}/merge`, { records })
    expect(JSON.parse(again.text)).to.include({ upserted: 0, skipped: 3 })
    await until(async () => (await indexed(client)) === 3)
  }).timeout(240_000)

  it('are refused by name when they do not fit, and nothing of the request happens', async () => {
    await using store = await StoreProcess.start({ dataDir: folder })
    using client = new StoreClient(store.api)
    await client.createTable('books', { indexes: { vec: VEC } })
    const refused = (vec: unknown): Promise<string> =>
      refusal(client, { good: { n: 1 }, bad: { n: 2, _embeddings: { vec } } })

    expect(await refused([1, 2])).to.contain('document "bad": _embeddings["vec"] has 2 numbers')
    expect(await refused([0, 0, 0])).to.contain('document "bad": _embeddings["vec"] has only zeros')
    expect(await refused([1, 2, 1e39])).to.contain('_embeddings["vec"][2] must be a finite number')
    expect(await refused(base64(1, NaN, 2))).to.contain('_embeddings["vec"][1] must be a finite')
    expect(await refused({ '1': 2 })).to.contain('_embeddings["vec"] is sparse')
    const unknown = await refusal(client, { bad: { n: 1, _embeddings: { other: [1, 2, 3] } } })
    expect(unknown).to.contain('document "bad": _embeddings["other"]: the table has no index')
    const absent = await refusal(client, { gone: { _embeddings: { vec: [1, 2, 3] } } })
    expect(absent).to.contain('document "gone" has only _embeddings, and there is no document')
    expect(await refusal(client, { bad: { _chunks: {} } })).to.contain(
      '_chunks is made by the store',
    )
    expect(await client.scan('books')).to.deep.equal([])
  }).timeout(240_000)

  it('are in the index after the process was killed, exactly those of the documents', async () => {
    let written = 0
    {
      await using store = await StoreProcess.start({ dataDir: folder })
      using client = new StoreClient(store.api)
      await client.createTable('books', { num_shards: 2, indexes: { vec: VEC } })
      for (let batch = 0; batch < 10; batch++) {
        const keys = countTo(100).map((n) => batch * 100 + n)
        const inserts = Object.fromEntries(
          keys.map((n) => [`k${n}`, { n, _embeddings: { vec: vectorOf(n) } }]),
        )
        await client.batch('books', { inserts })
        await client.batch('books', { deletes: [`k${batch * 100}`, `k${batch * 100 + 1}`] })
        written += keys.length - 2
      }
      await store.kill()
    }

    await using store = await StoreProcess.start({ dataDir: folder })
    using client = new StoreClient(store.api)
    await until(async () => (await indexed(client)) === written)

    const lines = await client.scan('books', { fields: ['n', '_embeddings'] })
    expect(lines).to.have.length(written)
    for (const { n, _embeddings } of lines) {
      expect(_embeddings).to.deep.equal({ vec: vectorOf(Number(n)) })
    }
  }).timeout(240_000)

  it('of a dropped index do not come back with an index of its name', async () => {
    await using store = await StoreProcess.start({ dataDir: folder })
    using client = new StoreClient(store.api)
    await client.createTable('books', { indexes: { vec: VEC } })
    await client.batch('books', { inserts: { a: { n: 1, _embeddings: { vec: [1, 2, 3] } } } })
    await until(async () => (await indexed(client)) === 1)

    await client.succeed('DELETE', `${TABLE}/indexes/vec`)
    await client.succeed('POST', `${TABLE}/indexes/vec`, { ...VEC, dimension: 2 })

    await until(async () => (await indexed(client)) === 0)
    expect(await found(client, 'a', '_embeddings')).to.deep.equal({})
    await client.batch('books', { inserts: { a: { _embeddings: { vec: [1, 2] } } } })
    await until(async () => (await indexed(client)) === 1)
    const { text } = await client.succeed('GET', `${TABLE}/indexes/vec`)
    expect(JSON.parse(text).config).to.deep.equal({
      name: 'vec',
      ...VEC,
      dimension: 2,
      engine: 'usearch',
      quantization: 'f16',
    })
  }).timeout(240_000)
})
