// The client against a real store and a real inference server.

import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { expect } from 'chai'
import {
  AlreadyExistsError,
  ConflictError,
  IdempotencyMismatchError,
  InvalidArgumentError,
  NotFoundError,
} from '../../clients/typescript/src/errors.ts'
import { InferenceClient } from '../../clients/typescript/src/inference-client.ts'
import { StoreClient } from '../../clients/typescript/src/store-client.ts'
import { parseNodeConfig } from '../../node/config.ts'
import { startNode } from '../../node/main.ts'
import type { RunningNode } from '../../node/main.ts'
import { errorOf } from '../support/error-of.ts'
import { InferenceServer } from '../support/servers/inference-server.ts'
import { writeTinyGenerator } from '../support/inference/model-directories.ts'
import { until } from '../support/until.ts'

const asFloats = (row: readonly number[]) => [...Float32Array.from(row)]

describe('the client of the store', () => {
  let dataDir: string
  let node: RunningNode
  let store: StoreClient

  before(async () => {
    dataDir = await mkdtemp(path.join(tmpdir(), 'quarry-client-'))
    const flags = { dataDir, apiPort: '0', healthPort: '0', logLevel: 'error' }
    node = await startNode(parseNodeConfig({}, flags))
    store = new StoreClient({ baseUrl: node.apiUrl })
  })

  after(async () => {
    await node.close()
    await rm(dataDir, { recursive: true })
  })

  beforeEach(async () => {
    await store.createTable('books', { split_keys: ['m'] })
    const inserts = {
      'atlas/1': { title: 'Sea charts', price: 12 },
      'tides/1': { title: 'Tide tables', price: 9 },
    }
    await store.batchWrite('books', { inserts, sync_level: 'full_text' })
  })

  afterEach(() => store.dropTable('books'))

  it('reads the status of the store', async () => {
    expect(await store.getHealth()).to.equal('ok')
    expect(await store.getStatus()).to.include({ health: 'healthy', tables: 1 })
    expect(await store.getContract()).to.match(/^openapi: 3\.1\.0$/m)
  })

  it('lists, describes and refuses tables', async () => {
    const names = (await store.listTables({ prefix: 'bo' })).map(({ name }) => name)
    const { shards } = await store.getTable('books')

    expect(names).to.deep.equal(['books'])
    expect(await store.listTables({ pattern: '^a+$' })).to.deep.equal([])
    expect(Object.keys(shards)).to.have.length(2)
    expect(await errorOf(() => store.createTable('books'))).to.be.instanceOf(AlreadyExistsError)
    expect(await errorOf(() => store.getTable('none'))).to.be.instanceOf(NotFoundError)
  })

  it('shows nodes and shards, and hears why a store in swarm mode is not steered', async () => {
    const { nodes: listed } = await store.listNodes()
    const [own] = listed
    const page = await store.listShards({ table: 'books', limit: 1 })
    const rest = await store.listShards({ cursor: page.next_cursor ?? '', trouble: 'any' })
    const [shard] = page.shards
    const { id = '' } = own ?? {}
    const nodes = { from: id, to: 'other' }
    const refusals = [
      await errorOf(() => store.drainNode(id)),
      await errorOf(() => store.undrainNode(id)),
      await errorOf(() => store.decommissionNode(id, { operationId: 'scale-down-7' })),
      await errorOf(() => store.handOverLeaders(id, { hold_ms: 1000 })),
      await errorOf(() => store.moveReplica(shard?.id ?? '', nodes)),
      await errorOf(() => store.transferLeader(shard?.id ?? '', { to: 'other' })),
    ]

    expect(shard).to.include({ table: 'books', leader: id })
    expect(rest.shards).to.deep.equal([])
    for (const error of refusals) {
      expect(error).to.be.instanceOf(InvalidArgumentError)
      expect(String(error)).to.include('swarm mode')
    }
  })

  it('replaces schemas, which then refuse documents', async () => {
    const schema = { type: 'object', required: ['title'] }
    const table = await store.updateTableSchema('books', {
      default_type: 'book',
      enforce_types: true,
      document_schemas: { book: { schema } },
    })

    const error = await errorOf(() => store.batchWrite('books', { inserts: { a: {} } }))

    expect(table.schema?.default_type).to.equal('book')
    expect(error).to.be.instanceOf(InvalidArgumentError)
  })

  it('adds and drops indexes', async () => {
    await store.createIndex('books', 'notes', { config: { type: 'full_text', mem_only: true } })
    const names = (await store.listIndexes('books')).map(({ config }) => config.name)
    const notes = await store.getIndex('books', 'notes')
    await store.dropIndex('books', 'notes')

    expect(names).to.have.members(['full_text_index_v0', 'notes'])
    expect(notes.status.index_type).to.equal('full_text')
    expect(await store.listIndexes('books')).to.have.length(1)
  })

  it('looks up documents, parts of them, and absent ones', async () => {
    const whole = await store.lookupDocument('books', 'atlas/1')
    const part = await store.lookupDocument('books', 'atlas/1', { fields: ['title'] })
    const none = await store.lookupDocument('books', 'a b/ü?')

    expect(whole.document).to.deep.equal({ title: 'Sea charts', price: 12 })
    expect(part).to.deep.equal({ document: { title: 'Sea charts' }, version: whole.version })
    expect(none).to.deep.equal({ document: undefined, version: '0' })
    const error = await errorOf(() => store.lookupDocument('none', 'a'))
    expect(error).to.be.instanceOf(NotFoundError)
  })

  it('applies a write with an idempotency key of the caller once', async () => {
    const operations = [{ op: '$inc', path: 'price', value: 1 }] as const
    const write = { transforms: [{ key: 'atlas/1', operations }] }
    const options = { idempotencyKey: 'raise' }

    const counts = await store.batchWrite('books', write, options)
    const again = await store.batchWrite('books', write, options)
    const other = await errorOf(() => store.batchWrite('books', { deletes: ['x'] }, options))

    expect([counts, again]).to.deep.equal([counts, counts])
    expect(other).to.be.instanceOf(IdempotencyMismatchError)
    const { document } = await store.lookupDocument('books', 'atlas/1')
    expect(document?.['price']).to.equal(13)
  })

  it('commits against read versions, and names the changed document', async () => {
    const { version } = await store.lookupDocument('books', 'atlas/1')
    const commit = {
      read_set: [{ table: 'books', key: 'atlas/1', version }],
      tables: { books: { inserts: { 'atlas/1': { title: 'Sea charts, 2nd edition' } } } },
    }

    const committed = await store.commitTransaction(commit)
    const error = await errorOf(() => store.commitTransaction(commit))

    expect(committed.tables['books']).to.include({ inserted: 1 })
    expect(error).to.be.instanceOf(ConflictError)
    expect(error).to.have.property('conflict').that.includes({ table: 'books', key: 'atlas/1' })
  })

  it('writes to several tables, and merges', async () => {
    const written = await store.crossTableBatch({
      tables: { books: { inserts: { b: { n: 1 } }, deletes: ['atlas/1'] } },
    })
    const records = { b: { n: 1 }, c: { n: 2 } }
    const merged = await store.mergeTable('books', { records })

    expect(written.tables['books']).to.include({ inserted: 1, deleted: 1 })
    expect(merged).to.include({ upserted: 1, skipped: 1, next_cursor: 'c' })
  })

  it('scans lines, and stops when the caller leaves the loop', async () => {
    const request = { fields: ['title'], filter_query: { min: 10, field: 'price' } } as const
    const lines = await Array.fromAsync(store.scanTable('books', request))
    const keys: string[] = []
    for await (const { key } of store.scanTable('books')) {
      keys.push(key)
      break
    }

    expect(lines).to.deep.equal([{ key: 'atlas/1', title: 'Sea charts' }])
    expect(keys).to.deep.equal(['atlas/1'])
    const missing = await errorOf(() => Array.fromAsync(store.scanTable('none')))
    expect(missing).to.be.instanceOf(NotFoundError)
  })

  it('scans many pages to their end', async () => {
    const inserts = Object.fromEntries(
      Array.from({ length: 20_000 }, (_, n) => [`n/${n}`, { text: 'x'.repeat(50) }]),
    )
    await store.batchWrite('books', { inserts })

    let lines = 0
    for await (const line of store.scanTable('books', { fields: ['text'] })) {
      if (line.key.startsWith('n/')) lines += 1
    }

    expect(lines).to.equal(20_000)
  })

  it('searches for a text that a person typed', async () => {
    const { hits } = await store.searchTable('books', {
      q: '"sea -(',
      searchFields: ['title^3'],
      limit: 1,
      fields: ['title'],
    })
    const { suggestions } = await store.searchTable('books', { q: 'xea', suggest: true })

    expect(hits.hits.map(({ _id }) => _id)).to.deep.equal(['atlas/1'])
    expect(suggestions?.[0]?.corrected).to.equal('sea')
  })

  it('asks one query or several', async () => {
    const one = await store.queryTable('books', {
      full_text_search: { match: 'sea', field: 'title' },
      highlight: {},
    })
    const several = await store.queryGlobal([
      { table: 'books', filter_query: { conjuncts: [{ max: 10, field: 'price' }] } },
      { table: 'none' },
    ])

    expect(one.hits.hits.map(({ _id }) => _id)).to.deep.equal(['atlas/1'])
    expect(several.map(({ status }) => status)).to.deep.equal([200, 404])
    const error = await errorOf(() =>
      store.queryTable('books', { full_text_search: { query: '((' } }),
    )
    expect(error).to.be.instanceOf(InvalidArgumentError)
  })
})

describe('the client of the inference server', () => {
  let server: InferenceServer
  let inference: InferenceClient

  before(async () => {
    server = await InferenceServer.start((root) =>
      writeTinyGenerator(path.join(root, 'generators/chat')),
    )
    inference = new InferenceClient({ baseUrl: server.url })
    await until(async () => (await inference.getReadiness()).status === 'ready')
  })

  after(() => server[Symbol.asyncDispose]())

  it('lists models and version', async () => {
    expect(await inference.getHealth()).to.deep.equal({ status: 'ok' })
    expect((await inference.listModels()).embedders).to.include('builtin-hash')
    expect((await inference.getVersion()).version).to.match(/^\d/)
    expect(await inference.getContract()).to.match(/^openapi: 3\.1\.0$/m)
  })

  it('embeds in binary with the numbers of the JSON answer', async () => {
    const request = { model: 'builtin-hash', input: ['high water', 'low water'] }
    const vectors = await inference.embed(request)

    const { json } = await server.post('/api/embed', request, { accept: 'application/json' })
    expect(vectors.map((vector) => [...vector])).to.deep.equal(json.embeddings.map(asFloats))
  })

  it('cuts a text into chunks', async () => {
    const { chunks } = await inference.chunk({ text: 'one two three', config: { model: 'fixed' } })
    expect(chunks.map(({ text }) => text)).to.deep.equal(['one two three'])
  })

  it('generates, whole or piece by piece', async () => {
    const messages = [{ role: 'user', content: 'hello' }] as const
    const request = { model: 'chat', messages, max_tokens: 3, temperature: 0 }

    const whole = await inference.generate(request)
    const pieces = await Array.fromAsync(inference.generatePieces(request))

    const joined = pieces.map(({ choices }) => choices[0]?.delta.content ?? '').join('')
    expect(joined).to.equal(whole.choices[0]?.message.content)
    expect(pieces.at(-1)?.choices[0]?.finish_reason).to.equal(whole.choices[0]?.finish_reason)
  })

  it('throws NotFoundError for an unknown model', async () => {
    const missing = [
      () => inference.rerank({ model: 'none', query: 'a', prompts: ['b'] }),
      () => inference.recognize({ model: 'none', texts: ['a'] }),
      () => inference.rewrite({ model: 'none', inputs: ['a'] }),
      () =>
        Array.fromAsync(
          inference.generatePieces({ model: 'none', messages: [{ role: 'user', content: 'a' }] }),
        ),
    ]
    for (const call of missing) expect(await errorOf(call)).to.be.instanceOf(NotFoundError)
  })
})
