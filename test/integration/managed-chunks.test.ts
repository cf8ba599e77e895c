// Documents of many chunks, and documents that show images, through the whole store: the chunker and the models of a real
// inference server, files of a server on this machine, and a model that describes images.

import { mkdtemp, rm } from 'node:fs/promises'
import type { Server } from 'node:http'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { text as textOf } from 'node:stream/consumers'
import { expect } from 'chai'
import { StoreClient } from '../../clients/typescript/src/store-client.ts'
import type { QueryRequest } from '../../clients/typescript/src/contract/store.v1.ts'
import { parseNodeConfig } from '../../node/config.ts'
import { startNode, type RunningNode } from '../../node/main.ts'
import { errorOf } from '../support/error-of.ts'
import { InferenceServer } from '../support/servers/inference-server.ts'
import { close, listen, portOf } from '../support/servers/local-server.ts'
import { imageOf } from '../support/worlds/media-files.ts'

const SHORT = { target_tokens: 12, overlap_tokens: 0 }
const TOPICS = [
  'The tide rises twice a day along the coast, and fishermen wait for high water.',
  'The baker mixes flour with water and lets the dough rest before the oven.',
  'Pension funds invest in bonds so that retired people are paid every month.',
  'The mechanic replaced the dead battery of the car before the engine started.',
]

describe('documents of many chunks, through the whole store', () => {
  let dataDir: string
  let node: RunningNode
  let inference: InferenceServer
  let files: Server
  let store: StoreClient
  let description = 'A lighthouse on a cliff above the sea.'

  before(async () => {
    dataDir = await mkdtemp(path.join(tmpdir(), 'quarry-chunks-'))
    inference = await InferenceServer.start()
    const image = await imageOf(16, 16, 'png')
    files = await listen('127.0.0.1', async (request, response) => {
      if (request.url === '/lighthouse.png') return response.end(image)
      if (request.url === '/notes.txt') return response.end(TOPICS[2])
      await textOf(request)
      const choices = [{ message: { content: description } }]
      return response.end(JSON.stringify({ choices }))
    })
    const flags = { dataDir, apiPort: '0', healthPort: '0', logLevel: 'error' }
    const media = { mediaHosts: '127.0.0.1', mediaPrivate: 'true', providerHosts: '127.0.0.1' }
    node = await startNode(parseNodeConfig({}, { ...flags, ...media }))
    store = new StoreClient({ baseUrl: node.apiUrl })
    const model = { provider: 'quarry', url: inference.url } as const
    const chunker = { ...model, text: SHORT }
    await store.createTable('notes', {
      split_keys: ['m'],
      indexes: {
        parts: {
          type: 'embeddings',
          field: 'text',
          distance_metric: 'cosine',
          embedder: model,
          chunker: { ...chunker, store_chunks: true, full_text_index: {} },
        },
        bare: { type: 'embeddings', field: 'text', embedder: model, chunker },
      },
    })
    await store.createTable('photos', {
      indexes: {
        seen: {
          type: 'embeddings',
          template: '{{title}} {{media url=photo}}',
          distance_metric: 'cosine',
          embedder: model,
          summarizer: {
            provider: 'openai',
            model: 'seer',
            url: `http://127.0.0.1:${portOf(files)}`,
            api_key: 'none',
          },
        },
        blind: { type: 'embeddings', template: '{{title}}', embedder: model },
      },
    })
  })

  after(async () => {
    await node.close()
    await close(files)
    await inference[Symbol.asyncDispose]()
    await rm(dataDir, { recursive: true, force: true })
  })

  const write = (table: string, inserts: Record<string, Record<string, unknown>>) =>
    store.batchWrite(table, { inserts, sync_level: 'full_index' })
  const hitsOf = async (table: string, request: QueryRequest) =>
    (await store.queryTable(table, request)).hits.hits
  const ids = async (table: string, request: QueryRequest) =>
    (await hitsOf(table, request)).map(({ _id: id }) => id)

  it('are found once, by the chunk that is nearest, which the hit tells', async () => {
    const all = TOPICS.join(' ')
    await write('notes', {
      all: { text: all },
      tide: { text: TOPICS[0] },
      zebra: { text: 'Zebras graze on the plains in the dry season.' },
    })

    const [first, ...others] = await hitsOf('notes', {
      semantic_search: 'car engine battery',
      indexes: ['parts'],
      limit: 10,
    })

    expect(others.map(({ _id: id }) => id)).to.not.include('all')
    expect(first).to.have.property('_id', 'all')
    const { index, chunk, start = 0, end, text } = first?.['_matched'] ?? {}
    expect(index).to.equal('parts')
    expect(chunk).to.be.greaterThan(0)
    expect(text).to.equal(all.slice(start, end)).and.include('battery')
    const bare = await hitsOf('notes', { semantic_search: 'car battery', indexes: ['bare'] })
    expect(bare[0]?.['_matched']).to.have.property('index', 'bare')
    expect(bare[0]?.['_matched']).to.not.have.property('text')
  })

  it('leave room for others, though one has hundreds of the nearest chunks', async () => {
    const many = Array.from({ length: 500 }, (_, i) => `${TOPICS[1]} Loaf ${i}.`).join(' ')
    await write('notes', { 'bread-many': { text: many }, 'bread-one': { text: TOPICS[1] } })

    const request = { semantic_search: TOPICS[1] ?? '', indexes: ['parts'], limit: 4 }
    const found = await ids('notes', request)
    const filtered = await ids('notes', { ...request, exclusion_query: { ids: ['bread-many'] } })

    expect(new Set(found).size).to.equal(4)
    expect(found.slice(0, 2)).to.have.members(['bread-many', 'bread-one'])
    expect(filtered[0]).to.equal('bread-one')
    expect(filtered).to.not.include('bread-many')
  })

  it('are found by the words of their chunks, and no longer when they change', async () => {
    const words = { full_text_search: { match: 'pension', field: '_chunks.parts._content' } }

    const before = await ids('notes', words)
    await write('notes', { all: { text: TOPICS[3] } })
    const afterwards = await ids('notes', words)

    expect(before).to.deep.equal(['all'])
    expect(afterwards).to.deep.equal([])
  })

  it('show their chunks to those who ask', async () => {
    const { document } =
      (await store.lookupDocument('notes', 'tide', { fields: ['_chunks'] })) ?? {}
    const [hit] = await hitsOf('notes', {
      filter_query: { ids: ['tide'] },
      fields: ['text', '_chunks', '-_chunks.*._embedding'],
    })

    const { parts, bare } = Object(document?.['_chunks'])
    expect(bare).to.equal(undefined)
    expect(parts.map(({ _content: content }: { _content: string }) => content).join(' ')).to.equal(
      TOPICS[0],
    )
    expect(parts[0]).to.include({ _id: 0, _start_char: 0 })
    expect(parts[0]['_embedding']).to.have.length(208)
    const shown = Object(hit?.['_source']?.['_chunks'])
    expect(shown.parts[0]).to.have.keys('_id', '_start_char', '_end_char', '_content')
  })

  it('are found by what a model says about their images, and show it', async () => {
    const photo = `http://127.0.0.1:${portOf(files)}/lighthouse.png`
    await write('photos', { one: { title: 'Holiday', photo } })
    description = 'A loaf of bread on a table.'
    await write('photos', { two: { title: 'Holiday', photo } })

    const found = await hitsOf('photos', {
      semantic_search: 'sea cliff lighthouse',
      indexes: ['seen'],
      fields: ['title', '_summaries'],
    })

    expect(found.map(({ _id: id }) => id)).to.deep.equal(['one', 'two'])
    expect(found[0]?.['_source']).to.deep.equal({
      title: 'Holiday',
      _summaries: { seen: 'A lighthouse on a cliff above the sea.' },
    })
  })

  it('are not written when a file cannot be read, which names it', async () => {
    const photo = `http://127.0.0.1:${portOf(files)}/lighthouse.png`.replace(
      '127.0.0.1',
      '127.0.0.2',
    )

    const error = await errorOf(() => write('photos', { bad: { title: 'x', photo } }))

    expect(String(error)).to.include('host 127.0.0.2 is not among the allowed hosts')
    expect(String(error)).to.include('bad').and.include('seen')
  })

  it('may be sought with a file', async () => {
    await write('notes', { pension: { text: TOPICS[2] } })
    const url = `http://127.0.0.1:${portOf(files)}`
    const sought = { indexes: ['parts'], limit: 1 }

    const found = await ids('notes', {
      ...sought,
      semantic_search: `${url}/notes.txt`,
      embedding_template: '{{remoteText url=this}}',
    })
    const image = await errorOf(() =>
      ids('notes', {
        ...sought,
        semantic_search: `${url}/lighthouse.png`,
        embedding_template: '{{remoteMedia url=this}}',
      }),
    )

    expect(found).to.deep.equal(['pension'])
    expect(String(image)).to.include('names images, and quarry quarry-static-en embeds texts alone')
  })

  it('stay as they are when the store starts again', async () => {
    const request = { semantic_search: 'high water', indexes: ['parts'], limit: 3 }
    const before = await hitsOf('notes', request)
    await node.close()
    const flags = { dataDir, apiPort: '0', healthPort: '0', logLevel: 'error' }
    node = await startNode(parseNodeConfig({}, { ...flags, providerHosts: '127.0.0.1' }))
    store = new StoreClient({ baseUrl: node.apiUrl })

    expect(await hitsOf('notes', request)).to.deep.equal(before)
  })
})
