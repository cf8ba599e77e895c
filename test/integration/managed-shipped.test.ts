// Search by meaning as it comes out of the box: `quarry swarm` with nothing configured, and the model that ships with it.

import { text } from 'node:stream/consumers'
import { expect } from 'chai'
import { CommandFolder, readyLine } from '../support/processes/quarry-command.ts'
import { ProviderServer } from '../support/servers/providers/provider-server.ts'
import { openaiDouble } from '../support/servers/providers/wire-doubles.ts'

const KEY = 'sk-written-plainly-4711'
const NOTES = {
  tides: { text: 'tide tables for the north coast', kind: 'sea' },
  bread: { text: 'gluten-free loaves from rice and corn flour', kind: 'kitchen' },
  car: { text: 'troubleshooting an engine with a dead battery', kind: 'street' },
  pension: { text: 'pension plans and retirement funds', kind: 'money' },
}

describe('quarry swarm with a managed index', () => {
  let folder: CommandFolder
  let url: string
  let model: ProviderServer
  let stop: () => Promise<string>

  before(async () => {
    folder = await CommandFolder.open()
    model = await ProviderServer.start(openaiDouble)
    const hosts = ['--provider-hosts', new URL(model.url).host]
    const flags = ['--data-dir', 'data', '--api-port', '0', '--health-port', '0']
    const child = folder.quarry(['swarm', ...flags, ...hosts, '--log-level', 'debug'])
    const log = text(child.stderr)
    url = `${(await readyLine(child)).api}/api/v1`
    stop = () => {
      child.kill('SIGTERM')
      return log
    }
  })

  after(async () => {
    await folder[Symbol.asyncDispose]()
    await model[Symbol.asyncDispose]()
  })

  async function post(at: string, body: object) {
    const headers = { 'content-type': 'application/json' }
    const answer = await fetch(url + at, { method: 'POST', headers, body: JSON.stringify(body) })
    const json = await answer.text()
    return { status: answer.status, body: json === '' ? undefined : JSON.parse(json) }
  }

  async function idsOf(query: object): Promise<readonly string[]> {
    const { body } = await post('/tables/notes/query', query)
    const { hits, error } = body.responses?.[0] ?? body
    expect(error).to.equal(undefined)
    return hits.hits.map(({ _id: id }: { _id: string }) => id)
  }

  it('finds by meaning what it has embedded itself', async () => {
    const indexes = { meaning: { type: 'embeddings', field: 'text', distance_metric: 'cosine' } }
    const created = await post('/tables/notes', { indexes })
    const written = await post('/tables/notes/batch', {
      inserts: NOTES,
      sync_level: 'full_index',
    })
    expect([created.status, written.status], JSON.stringify(written.body)).to.deep.equal([201, 201])

    const semantic = { indexes: ['meaning'], limit: 1 }
    const found = {
      sea: await idsOf({ ...semantic, semantic_search: 'when does the ocean rise' }),
      car: await idsOf({ ...semantic, semantic_search: 'my automobile will not start' }),
      money: await idsOf({ ...semantic, semantic_search: 'how to save money for old age' }),
      filtered: await idsOf({
        ...semantic,
        semantic_search: 'how to save money for old age',
        filter_query: { query: 'kind:kitchen' },
      }),
    }

    expect(found).to.deep.equal({
      sea: ['tides'],
      car: ['car'],
      money: ['pension'],
      filtered: ['bread'],
    })
  })

  it('merges meaning with words', async () => {
    const [first] = await idsOf({
      semantic_search: 'when does the ocean rise',
      full_text_search: { query: 'text:coast' },
      indexes: ['meaning'],
    })

    expect(first).to.equal('tides')
  })

  it('writes no key to its log, whatever the provider does', async () => {
    const embedder = { provider: 'openai', model: 'm', url: model.url, api_key: KEY }
    for (const dimension of [undefined, 4]) {
      model.failNext({ kind: 'echo' })
      const at = `/tables/notes/indexes/index-${dimension ?? 'probed'}`
      const { body } = await post(at, { type: 'embeddings', field: 'text', dimension, embedder })
      expect(JSON.stringify(body ?? '')).to.not.include(KEY)
    }
    expect(
      (await post('/tables/notes/indexes/keyed', { type: 'embeddings', embedder })).status,
    ).to.equal(201)
    model.failNext({ kind: 'echo' }, { kind: 'echo' })
    await post('/tables/notes/batch', { inserts: NOTES, sync_level: 'enrichments' })

    const log = await stop()

    expect(log).to.include('createIndex').and.not.include(KEY)
  })
})
